import type { JudgedCase } from '../../evaluation/shape.ts';
import { trialOf } from '../../evaluation/sums.ts';
import { checkLimits } from './check.ts';
import type { CaseGroup, JudgedLimits, LimitCheck } from './shape.ts';
import { tallyOf } from './tally.ts';

type Asked = Omit<JudgedLimits, 'checks'>;

/** Checks the limits of a run against its cases and those of earlier repetitions. */
export function checkRun(asked: Asked, cases: readonly JudgedCase[]): LimitCheck[] {
  const groups = new Map<string, CaseGroup>(asked.groups?.map(one => [one.case_id, one]));
  const earlier = new Map(asked.earlier?.cases.map(one => [one.case_id, one.tally]));
  return checkLimits(
    asked,
    cases.map(one => ({
      ...(groups.get(one.case_id) ?? { case_id: one.case_id }),
      tally: tallyOf([trialOf(one)], earlier.get(one.case_id)),
    })),
  );
}

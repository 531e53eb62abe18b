import type { Evaluation, JudgedCase } from '../../contracts/evaluation/index.ts';
import { trialOf } from '../../contracts/evaluation/index.ts';
import {
  type CaseGroup,
  checkRun,
  type JudgedLimits,
  limitsIn,
  type Tally,
  tallyOf,
} from '../../contracts/gate/limits/index.ts';
import { groupOf } from '../../contracts/suite/index.ts';
import { type SuiteFolder, suiteCases } from '../../evidence/suite/suite-folder.ts';

/** The results of the repetitions before the last one. */
export type Earlier = NonNullable<JudgedLimits['earlier']>;

/**
 * Checks the limits that were requested for a run; undefined if there were none. In a repeated suite only the last
 * repetition has them, because they apply to all trials together. Without the earlier results there is no decision.
 */
export function judgeLimits(
  { folder, request }: SuiteFolder,
  cases: readonly JudgedCase[],
  earlierOf: () => Earlier | undefined,
): JudgedLimits | undefined {
  const { gate, repetition } = request;
  if (!gate || repetition.number < repetition.total) return undefined;
  const earlier = repetition.total === 1 ? undefined : earlierOf();
  if (repetition.total > 1 && earlier?.run_ids.length !== repetition.total - 1) return undefined;
  const groups = gate.per_suite || gate.per_tag || gate.per_severity ? groupsIn(folder, cases) : undefined;
  const asked = { ...limitsIn(gate), ...(groups && { groups }), ...(earlier && { earlier }) };
  return { ...asked, checks: checkRun(asked, cases) };
}

/** The totals over earlier repetitions, case by case. */
export function earlierFrom(evaluations: readonly Evaluation[]): Earlier {
  const tallies = new Map<string, Tally>();
  for (const { cases } of evaluations) {
    for (const one of cases) tallies.set(one.case_id, tallyOf([trialOf(one)], tallies.get(one.case_id)));
  }
  return {
    run_ids: evaluations.map(({ run_id }) => run_id),
    seals: evaluations.map(({ seal_sha256 }) => seal_sha256),
    cases: Array.from(tallies, ([case_id, tally]) => ({ case_id, tally })),
  };
}

function groupsIn(folder: string, cases: readonly JudgedCase[]): CaseGroup[] {
  const judged = new Set(cases.map(({ case_id }) => case_id));
  const groups: CaseGroup[] = [];
  for (const one of suiteCases(folder)) {
    const group = groupOf(one);
    // If a case occurs twice, count it only once.
    if (judged.delete(one.id) && Object.keys(group).length > 0) groups.push({ case_id: one.id, ...group });
  }
  return groups;
}

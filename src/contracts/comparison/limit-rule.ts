import { checkFindings } from '../evaluation/gate-rule.ts';
import {
  type AskedLimits,
  checkLimits,
  type CountedCase,
  type CountedTrial,
  LIMIT_ASKS,
  type LimitCheck,
  limitFindings,
  tallyOf,
} from '../gate/limits/index.ts';
import { rulesFor } from '../rule.ts';
import type { ComparedCase, Comparison } from './shape.ts';

type NewSide = Readonly<Pick<ComparedCase, 'case_id' | 'suite' | 'tags' | 'severity'>> & {
  readonly new: { readonly trials: readonly (CountedTrial & { readonly rerun?: true | undefined })[] };
};

/** Checks the limits of a gate on the candidate alone. Skips cases that only the baseline has. */
export function checkNewSide(asked: AskedLimits, cases: readonly NewSide[]): LimitCheck[] {
  return checkLimits(asked, cases.filter(one => one.new.trials.length > 0).map(countedCase));
}

/** Excludes reruns: they were selected by earlier results, so they would bias the rates. */
function countedCase({ case_id, suite, tags, severity, new: candidate }: NewSide): CountedCase {
  const tally = tallyOf(candidate.trials.filter(({ rerun }) => !rerun));
  return { case_id, suite, tags, severity, tally };
}

const rule = rulesFor<Comparison>();

export const CM13 = rule({
  id: 'CM13',
  title: 'Limits Checked',
  why: 'A limit on the candidate applies regardless of the baseline, so the verifier recomputes it.',
  asks: [
    ...LIMIT_ASKS,
    'checks has one entry per limit, and may be absent if there are no limits',
    'a check has of, name, limit, allowed, measured, is_met and message, all as computed from the trials of new',
    'measured is null if nothing was measured; is_met is then false',
    'a case may have tags (a list of strings) and severity (a string)',
  ],
  fields: [
    'gate.limits',
    'gate.per_suite',
    'gate.per_tag',
    'gate.per_severity',
    'gate.checks',
    'cases[].tags',
    'cases[].severity',
  ],
  reads: ['cases[].suite', 'cases[].new'],
  *check({ gate, cases }) {
    yield* limitFindings(gate, 'gate');
    yield* checkFindings(gate.checks ?? [], checkNewSide(gate, cases), 'gate.checks');
  },
  breach: ({ gate, ...rest }) => ({ ...rest, gate: { ...gate, limits: { max_failing: 0 } } }),
});

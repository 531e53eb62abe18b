import { canonicalize } from '../../base/canonical.ts';
import { checkRun, LIMIT_ASKS, limitFindings, type LimitCheck } from '../gate/limits/index.ts';
import { firstRepeated } from '../lists.ts';
import { type Finding, must, rulesFor } from '../rule.ts';
import type { Evaluation } from './shape.ts';

const rule = rulesFor<Evaluation>();

export const EV8 = rule({
  id: 'EV8',
  title: 'Limits Checked',
  why: 'Whether a run met its limits follows from its cases, so the verifier recomputes every check.',
  asks: [
    'gate, if present, has the limits of the run, and one entry in checks per limit',
    ...LIMIT_ASKS,
    'groups, if present, is a list of entries with a unique case_id, and suite, tags and severity',
    'earlier, if present, has run_ids and seals, one of each per earlier repetition, and a tally for each case',
    'the passed, failed, unjudged and missing counts of a tally add up to the number of run_ids',
    'a check has of, name, limit, allowed, measured, is_met and message, all as computed from the cases and tallies',
    'measured is null if nothing was measured; is_met is then false',
  ],
  fields: ['gate'],
  reads: ['cases'],
  *check({ gate, cases }) {
    if (!gate) return;
    yield* limitFindings(gate, 'gate');
    const { groups = [], earlier, checks, ...asked } = gate;
    const repeated = firstRepeated(groups.map(({ case_id }) => case_id));
    if (repeated !== undefined) yield must(`gate.groups[${repeated}].case_id`, 'is a duplicate');
    if (earlier) yield* earlierFindings(earlier, cases);
    yield* checkFindings(checks, checkRun({ ...asked, groups, ...(earlier && { earlier }) }, cases), 'gate.checks');
  },
  breach: ({ gate, ...rest }) => ({
    ...rest,
    gate: gate && { ...gate, checks: gate.checks.map(one => ({ ...one, is_met: true })) },
  }),
});

type Earlier = NonNullable<NonNullable<Evaluation['gate']>['earlier']>;

function* earlierFindings(
  { run_ids, seals, cases }: Earlier,
  judged: Pick<Evaluation, 'cases'>['cases'],
): Generator<Finding> {
  const known = new Set(cases.map(({ case_id }) => case_id));
  if (known.size !== judged.length || !judged.every(({ case_id }) => known.has(case_id)))
    yield must('gate.earlier.cases', 'must be the cases of this run');
  if (seals.length !== run_ids.length) yield must('gate.earlier.seals', 'must have one entry per run');
  const repeated = firstRepeated(cases.map(({ case_id }) => case_id));
  if (repeated !== undefined) yield must(`gate.earlier.cases[${repeated}].case_id`, 'is a duplicate');
  for (const [index, { tally }] of cases.entries()) {
    const { passed, failed, unjudged, missing } = tally;
    if (passed + failed + unjudged + missing !== run_ids.length)
      yield must(`gate.earlier.cases[${index}].tally`, 'must count one trial per run');
  }
}

/** Finds checks that differ from the recomputed ones. */
export function* checkFindings(
  recorded: readonly LimitCheck[],
  found: readonly LimitCheck[],
  at: string,
): Generator<Finding> {
  if (recorded.length !== found.length) yield must(at, 'must have one entry per limit');
  else {
    for (const [index, check] of found.entries()) {
      if (canonicalize(recorded[index]) !== canonicalize(check))
        yield must(`${at}[${index}]`, 'does not match the cases');
    }
  }
}

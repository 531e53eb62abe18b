import { type Comparison, type Decision, VERDICT_OF } from '../contracts/comparison/index.ts';
import { percent, points } from '../contracts/gate/decide/index.ts';
import { REPETITIONS_MAX } from '../contracts/suite/index.ts';
import { counted } from '../base/counted.ts';

/** The evidence behind a verdict. It does not repeat the reason. */
export interface Explanation {
  readonly rates: Decision['rates'];
  /** The pass rates; null if no case ran on both sides. */
  readonly ratesNote: string | null;
  /** In this order: what was ruled out, what the test could miss, which cases were rerun, and what to do next. */
  readonly notes: readonly Note[];
}

interface Note {
  readonly label: 'Ruled out' | 'Power' | 'Run again' | 'To settle it';
  /** The text after the label and a colon. */
  readonly says: string;
}

/** Undefined without a decision, and for sides that cannot be compared. */
export function explanationOf(comparison: Comparison): Explanation | undefined {
  const { decision, comparability } = comparison;
  if (!decision || comparability.state === 'not_comparable') return undefined;
  const notes = [
    { label: 'Ruled out', says: ruledOut(comparison, decision) },
    { label: 'Power', says: power(decision) },
    { label: 'Run again', says: askedAgain(comparison.again) },
    { label: 'To settle it', says: SETTLES[decision.cause]?.(comparison) },
  ] as const;
  // A case without expectations passes with any answer.
  const rates = decision.cause === 'no_expectations' ? null : decision.rates;
  return {
    rates,
    ratesNote: ratesNote({ ...decision, rates }),
    notes: notes.flatMap(({ label, says }) => (says === undefined ? [] : [{ label, says }])),
  };
}

function ratesNote({ rates, drop, p, cause }: Decision): string | null {
  if (!rates) return null;
  const told = ({ rate, low, high }: typeof rates.new): string =>
    `${percent(rate)} (${percent(low)} to ${percent(high)})`;
  const isOpen = drop !== null && drop > 0 && p !== null && cause !== 'worse';
  const chance = isOpen ? `; ${probability(p)} if nothing changed` : '';
  return `baseline ${told(rates.baseline)}, candidate ${told(rates.new)}, each with its 95 % interval${chance}.`;
}

/** Causes that say nothing about the suite as a whole. */
const SILENT: ReadonlySet<Decision['cause']> = new Set([
  'no_pairs',
  'unreadable',
  'no_expectations',
  'all_failing',
  'weakened',
  'identical',
]);

/** Causes whose reason already states the largest remaining drop. */
const TELL_HIGH: ReadonlySet<Decision['cause']> = new Set(['safe', 'not_worse', 'unsettled']);

function ruledOut({ gate, verdict }: Comparison, { cause, high, cases }: Decision): string | undefined {
  // A verdict with another source, such as a cost limit, has a reason that does not mention the suite.
  const isTold = TELL_HIGH.has(cause) && VERDICT_OF[cause] === verdict;
  if (high === null || high >= 1 || SILENT.has(cause) || isTold) return undefined;
  const drop = high <= 0 ? 'any drop' : `a drop of more than ${points(high)}`;
  const of = cases === 1 ? 'the case' : `the ${cases} cases`;
  const where = cause === 'missing' || cause === 'removed' ? ` in ${of} with trials on both sides` : '';
  return `${drop} in the pass rate${where} (${percent(gate.confidence ?? 0.95)} confidence).`;
}

function power({ cause, detectable }: Decision): string | undefined {
  if (detectable === null || SILENT.has(cause)) return undefined;
  if (detectable >= 1) return 'too few trials to detect any drop in the pass rate reliably.';
  return `comparisons of this size detect a drop of ${points(detectable)} four times out of five; they may miss a smaller one.`;
}

function askedAgain(again: Comparison['again']): string | undefined {
  if (!again) return undefined;
  const { trials, rounds, sides, stopped } = again;
  const asked = `${counted(trials, 'trial')} in ${counted(rounds, 'round')} on ${sides === 'both' ? 'both sides' : 'the candidate only'}`;
  return `${trials === 0 ? 'no case' : asked}; ${STOPPED[stopped]}.`;
}

const STOPPED: Readonly<Record<NonNullable<Comparison['again']>['stopped'], string>> = {
  settled: 'more trials would not settle any remaining case',
  trials: 'the next round would exceed the trial budget (“--again-trials”)',
  time: 'the time is up (“--again-time”)',
  cost: 'the cost budget is used up (“--again-cost”)',
  cost_unknown: 'a trial did not report its cost, so Proctor cannot enforce the cost budget (“--again-cost”)',
  cancelled: 'it was cancelled',
};

/** The next step, for each cause whose reason does not name one. */
const SETTLES: Readonly<Partial<Record<Decision['cause'], (comparison: Comparison) => string | undefined>>> = {
  no_pairs: () => 'run the same cases on both sides.',
  unreadable: () => 'run the baseline again, against a target that answers.',
  no_expectations: () => 'add expectations to the cases.',
  all_failing: () => 'compare with a baseline whose cases pass.',
  missing: () => 'run the missing cases on both sides.',
  suspect: ({ again }) => {
    if (!again) return 'run the suspect cases again with “proctor compare BASELINE NEW --again”.';
    return again.stopped === 'settled' ? undefined : 'compare with “--again” once more, with a larger budget.';
  },
  unsettled: ({ statistics, cases }) => {
    if (statistics.more_trials === null) return 'add cases, or allow a larger drop (“margin” in the gate file).';
    const trials = plannedTrials(cases) + statistics.more_trials;
    return trials > REPETITIONS_MAX ? 'add cases.' : `run both sides with “--repeat ${trials}”.`;
  },
};

/** The largest number of planned trials that a case has on both sides. */
function plannedTrials(cases: Comparison['cases']): number {
  const planned = ({ trials }: (typeof cases)[number]['new']): number => trials.filter(({ rerun }) => !rerun).length;
  return cases.reduce((most, one) => Math.max(most, Math.min(planned(one.baseline), planned(one.new))), 0);
}

function probability(p: number): string {
  return p < 0.0001 ? 'p < 0.0001' : `p = ${Number(p.toPrecision(2))}`;
}

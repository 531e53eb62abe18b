import {
  type CaseFinding,
  type CaseTrials,
  decideCases,
  type GateDecision,
  type GateMode,
} from '../gate/decide/index.ts';
import { isWeakened } from './changed.ts';
import type { ComparedCase, Comparison, Decision } from './shape.ts';
import { standingOf, type Trial } from './trial.ts';

type GateSettings = Pick<
  Comparison['gate'],
  'margin' | 'alpha' | 'confidence' | 'critical' | 'missing_max_ratio' | 'allow_removed' | 'allow_weakened'
> & { readonly mode: GateMode };

type Cases = readonly Pick<ComparedCase, 'case_id' | 'baseline' | 'new' | 'changed'>[];

/** What the gate finds, and its sentence. Judging writes it, and verifying computes it again. */
export interface Decided {
  readonly decision: Decision;
  readonly reason: string;
  readonly moreTrials: number | null;
}

/** Decides on cases by what their trials show. A cause that hides a regression comes after the regressions. */
export function decideComparison(gate: GateSettings, cases: Cases, withoutExpectations: number): Decided {
  const facts = factsOf(cases);
  const { mode, margin, alpha, confidence, critical, missing_max_ratio: missingMaxRatio } = gate;
  const given = { margin, alpha, confidence, critical, missingMaxRatio };
  const settings = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const decided = decideCases(facts.counted, { mode, ...settings });
  const removed = gate.allow_removed ? [] : facts.removed;
  const weakened = gate.allow_weakened ? [] : cases.filter(({ changed }) => isWeakened(changed));
  const known = { ...facts, removed, weakened, cases: cases.length, withoutExpectations };
  const cause = causeOf(decided, known);
  const { cases: paired, drop, high, p, broken, suspects } = decided;
  return {
    decision: {
      cause,
      cases: paired,
      drop,
      high,
      p,
      broken: broken.map(findingOf),
      suspects: suspects.map(findingOf),
      removed: [...removed],
      weakened: weakened.map(({ case_id }) => case_id),
    },
    reason: REASONS[cause]?.(known) ?? decided.reason,
    moreTrials: decided.moreTrials,
  };
}

/** The verdict that each cause leads to. */
export const VERDICT_OF: Readonly<Record<Decision['cause'], Comparison['verdict']>> = {
  no_pairs: 'not_enough_evidence',
  broken: 'regression',
  worse: 'regression',
  unreadable: 'not_enough_evidence',
  no_expectations: 'not_enough_evidence',
  all_failing: 'not_enough_evidence',
  removed: 'not_enough_evidence',
  weakened: 'not_enough_evidence',
  missing: 'not_enough_evidence',
  suspect: 'not_enough_evidence',
  identical: 'no_regression',
  safe: 'no_regression',
  not_worse: 'no_regression',
  unsettled: 'not_enough_evidence',
};

interface Facts {
  readonly counted: readonly CaseTrials[];
  readonly removed: readonly string[];
  /** Trials of the baseline whose answer could not be read. */
  readonly unreadable: number;
  /** Trials of the baseline that were answered. */
  readonly answered: number;
}

interface Known extends Facts {
  readonly weakened: Cases;
  readonly cases: number;
  readonly withoutExpectations: number;
}

function causeOf({ cause, verdict }: GateDecision, known: Known): Decision['cause'] {
  const { counted, removed, weakened, unreadable, answered, cases, withoutExpectations } = known;
  if (answered > 0 && unreadable > answered / 2) return 'unreadable';
  if (verdict === 'regression' || cause === 'no_pairs') return cause;
  if (withoutExpectations > 0 && withoutExpectations === cases) return 'no_expectations';
  if (counted.every(({ baseline, candidate }) => baseline.planned.passes + candidate.planned.passes === 0))
    return 'all_failing';
  if (removed.length > 0) return 'removed';
  return weakened.length > 0 ? 'weakened' : cause;
}

/** The sentences of causes that the gate itself does not know. */
const REASONS: Readonly<Partial<Record<Decision['cause'], (known: Known) => string>>> = {
  unreadable: ({ unreadable }) =>
    `Most answers of the baseline cannot be read (${unreadable} of its trials), so there is nothing to compare with.`,
  no_expectations: () => 'No case has an expectation, so nothing was judged.',
  all_failing: ({ cases }) =>
    `${cases === 1 ? 'The only case fails' : `All ${cases} cases fail`} on both sides, so nothing could get worse.`,
  removed: ({ removed, weakened }) =>
    `${removed.length === 1 ? 'A case of the baseline is' : `${removed.length} cases of the baseline are`} no longer in the suite: ${named(removed)}. --allow-removed accepts this.${weakened.length > 0 ? ` ${weakenedText(weakened)}` : ''}`,
  weakened: ({ weakened }) => weakenedText(weakened),
};

function weakenedText(weakened: Cases): string {
  const shown = weakened.flatMap(({ case_id, changed }) => {
    const [first] = changed?.differences ?? [];
    return first ? [`${case_id} (${first.what} ${first.at.replace(/^expected\./, '')})`] : [];
  });
  const unknown = weakened.filter(({ changed }) => !changed?.differences).map(({ case_id }) => case_id);
  const less = `${shown.length === 1 ? 'A case asks' : `${shown.length} cases ask`} less than in the baseline: ${named(shown)}.`;
  const perhaps = `${unknown.length === 1 ? 'A case changed' : `${unknown.length} cases changed`}, and the baseline does not keep what was asked: ${named(unknown)}.`;
  const found = [...(shown.length > 0 ? [less] : []), ...(unknown.length > 0 ? [perhaps] : [])];
  return `${found.join(' ')} --allow-weakened accepts this.`;
}

function named(ids: readonly string[]): string {
  const more = ids.length - NAMED_MAX;
  return [...ids.slice(0, NAMED_MAX), ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

const NAMED_MAX = 5;

function factsOf(cases: Cases): Facts {
  const silent = cases.filter(isSilent);
  // A target that answers hardly anything is down; one that drops a few inputs fails on them.
  const isFailing = silent.length * 2 <= cases.length;
  let unreadable = 0;
  let answered = 0;
  for (const { baseline } of cases) {
    for (const trial of baseline.trials) {
      if (standingOf(trial) !== 'missing') answered++;
      if (trial.error_class === 'invalid_json' || trial.error_class === 'schema_mismatch') unreadable++;
    }
  }
  return {
    counted: cases.map(one => ({
      id: one.case_id,
      baseline: sideOf(one.baseline.trials, false),
      candidate: sideOf(one.new.trials, isFailing && isSilent(one)),
    })),
    removed: cases.filter(one => one.baseline.trials.length > 0 && one.new.trials.length === 0).map(one => one.case_id),
    unreadable,
    answered,
  };
}

/** The baseline answered, and the candidate broke the connection in every trial. */
function isSilent({ baseline, new: candidate }: Cases[number]): boolean {
  return (
    candidate.trials.length > 0 &&
    candidate.trials.every(isUnanswered) &&
    baseline.trials.some(trial => standingOf(trial) !== 'missing')
  );
}

function isUnanswered({ error_class }: Pick<Trial, 'error_class'>): boolean {
  return error_class === 'network_error' || error_class === 'other';
}

/** Trials that say something of the agent; with `countsSilence`, those that it did not answer too. */
function sideOf(trials: readonly Pick<Trial, 'verdict' | 'error_class'>[], countsSilence: boolean) {
  const planned = { passes: 0, trials: 0 };
  for (const trial of trials) {
    const standing = standingOf(trial);
    if (standing === 'missing' && !countsSilence) continue;
    planned.trials++;
    if (standing === 'passed') planned.passes++;
  }
  return { planned, again: { passes: 0, trials: 0 } };
}

function findingOf({ case: case_id, baseline, candidate, p }: CaseFinding): Decision['broken'][number] {
  return { case_id, baseline, new: candidate, p };
}

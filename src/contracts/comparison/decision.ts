import {
  type CaseFinding,
  decideCases,
  type GateDecision,
  type GateMode,
  firstOf,
  named,
} from '../gate/decide/index.ts';
import { isWeakened } from './changed.ts';
import { type Counts, countsOf } from './counts.ts';
import { decideMetrics } from './metrics.ts';
import type { Comparison, Decision } from './shape.ts';

type GateSettings = Pick<
  Comparison['gate'],
  | 'tolerances'
  | 'margin'
  | 'alpha'
  | 'confidence'
  | 'critical'
  | 'missing_max_ratio'
  | 'allow_removed'
  | 'allow_weakened'
> & { readonly mode: GateMode };

/** What the gate finds, and its sentence. Judging writes it, and verifying computes it again. */
export interface Decided {
  readonly decision: Decision;
  readonly reason: string;
  readonly moreTrials: number | null;
}

/** What a decision follows from. */
export type DecisionInput = Pick<Comparison, 'cases' | 'sides' | 'summary'>;

/** Decides on cases by what their trials show. A cause that hides a regression comes after the regressions. */
export function decideComparison(gate: GateSettings, { cases, sides, summary }: DecisionInput): Decided {
  const { baseline, new: candidate } = sides;
  const counts = countsOf(cases, { baseline: baseline.replayed === true, new: candidate.replayed === true });
  const { mode, margin, alpha, confidence, critical, missing_max_ratio: missingMaxRatio } = gate;
  const given = { margin, alpha, confidence, critical, missingMaxRatio };
  const settings = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const decided = decideCases(counts.counted, { mode, ...settings, identical: counts.isIdentical });
  const removed = gate.allow_removed ? [] : counts.removed;
  const weakened = gate.allow_weakened ? [] : cases.filter(({ changed }) => isWeakened(changed));
  const withoutExpectations = summary.without_expectations ?? 0;
  const known = { ...counts, removed, weakened, cases: cases.length, withoutExpectations };
  const cause = causeOf(decided, known);
  const { cases: paired, drop, high, p, detectable, rates, broken, suspects } = decided;
  return {
    decision: {
      cause,
      cases: paired,
      drop,
      high,
      p,
      detectable,
      rates: rates && { baseline: rates.baseline, new: rates.candidate },
      metrics: decideMetrics(gate.tolerances, cases, mode),
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

interface Known extends Counts {
  readonly weakened: Comparison['cases'];
  readonly cases: number;
  readonly withoutExpectations: number;
}

function causeOf({ cause, verdict }: GateDecision, known: Known): Decision['cause'] {
  const { counted, removed, weakened, unreadable, answered, cases, withoutExpectations } = known;
  if (verdict === 'regression') return cause;
  if (answered > 0 && unreadable > answered / 2) return 'unreadable';
  if (cause === 'no_pairs') return cause;
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

function weakenedText(weakened: Comparison['cases']): string {
  const shown = weakened.flatMap(({ case_id, changed }) => {
    const [first] = changed?.differences ?? [];
    return first ? [`“${case_id}” (${first.what} ${first.at.replace(/^expected\./, '')})`] : [];
  });
  const unknown = weakened.filter(({ changed }) => !changed?.differences).map(({ case_id }) => case_id);
  const less = `${shown.length === 1 ? 'A case asks' : `${shown.length} cases ask`} less than in the baseline: ${firstOf(shown)}.`;
  const perhaps = `${unknown.length === 1 ? 'A case changed' : `${unknown.length} cases changed`}, and the baseline does not keep what was asked: ${named(unknown)}.`;
  const found = [...(shown.length > 0 ? [less] : []), ...(unknown.length > 0 ? [perhaps] : [])];
  return `${found.join(' ')} --allow-weakened accepts this.`;
}

function findingOf({ case: case_id, baseline, candidate, p }: CaseFinding): Decision['broken'][number] {
  return { case_id, baseline, new: candidate, p };
}

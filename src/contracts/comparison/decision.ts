import { type CaseFinding, decideCases, type GateDecision, type GateMode, named } from '../gate/decide/index.ts';
import { type Counts, countsOf } from './counts.ts';
import { decideMetrics } from './metrics.ts';
import type { Comparison, Decision } from './shape.ts';

type GateSettings = Pick<
  Comparison['gate'],
  'tolerances' | 'margin' | 'alpha' | 'confidence' | 'critical' | 'missing_max_ratio' | 'allow_removed'
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
  const known = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const decided = decideCases(counts.counted, { mode, ...known, identical: counts.isIdentical });
  const removed = gate.allow_removed ? [] : counts.removed;
  const withoutExpectations = summary.without_expectations ?? 0;
  const cause = causeOf(decided, { ...counts, removed, cases: cases.length, withoutExpectations });
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
    },
    reason: REASONS[cause]?.(removed, counts.unreadable, cases.length) ?? decided.reason,
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
  missing: 'not_enough_evidence',
  suspect: 'not_enough_evidence',
  identical: 'no_regression',
  safe: 'no_regression',
  not_worse: 'no_regression',
  unsettled: 'not_enough_evidence',
};

function causeOf(
  { cause, verdict }: GateDecision,
  facts: Counts & { readonly cases: number; readonly withoutExpectations: number },
): Decision['cause'] {
  const { counted, removed, unreadable, answered, cases, withoutExpectations } = facts;
  if (verdict === 'regression') return cause;
  if (answered > 0 && unreadable > answered / 2) return 'unreadable';
  if (cause === 'no_pairs') return cause;
  if (withoutExpectations > 0 && withoutExpectations === cases) return 'no_expectations';
  if (counted.every(({ baseline, candidate }) => baseline.planned.passes + candidate.planned.passes === 0))
    return 'all_failing';
  return removed.length > 0 ? 'removed' : cause;
}

/** The sentences of causes that the gate itself does not know. */
const REASONS: Readonly<
  Partial<Record<Decision['cause'], (removed: readonly string[], unreadable: number, cases: number) => string>>
> = {
  unreadable: (_, unreadable) =>
    `Most answers of the baseline cannot be read (${unreadable} of its trials), so there is nothing to compare with.`,
  no_expectations: () => 'No case has an expectation, so nothing was judged.',
  all_failing: (_, __, cases) =>
    `${cases === 1 ? 'The only case fails' : `All ${cases} cases fail`} on both sides, so nothing could get worse.`,
  removed: removed =>
    `${removed.length === 1 ? 'A case of the baseline is' : `${removed.length} cases of the baseline are`} no longer in the suite: ${named(removed)}. --allow-removed accepts this.`,
};

function findingOf({ case: case_id, baseline, candidate, p }: CaseFinding): Decision['broken'][number] {
  return { case_id, baseline, new: candidate, p };
}

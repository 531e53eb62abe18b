import {
  type CaseFinding,
  type CaseTrials,
  decideCases,
  type GateDecision,
  type GateMode,
  named,
} from '../gate/decide/index.ts';
import { type Counts, countsOf, type TriedCases } from './counts.ts';
import { decideMetrics } from './metrics.ts';
import type { ComparedSide, Comparison, Decision } from './shape.ts';

type GateSettings = Pick<
  Comparison['gate'],
  'tolerances' | 'margin' | 'alpha' | 'confidence' | 'critical' | 'missing_max_ratio' | 'allow_removed' | 'looks'
> & { readonly mode: GateMode };

/** What the gate finds, and its sentence. Judging writes it, and verifying computes it again. */
export interface Decided {
  readonly decision: Decision;
  readonly reason: string;
  readonly moreTrials: number | null;
}

/** What a decision follows from. */
export interface DecisionInput {
  readonly cases: TriedCases;
  readonly sides: Readonly<Record<'baseline' | 'new', Pick<ComparedSide, 'replayed'>>>;
  readonly summary: Pick<Comparison['summary'], 'without_expectations'>;
}

/** Decides on cases by what their trials show. A cause that hides a regression comes after the regressions. */
export function decideComparison(gate: GateSettings, { cases, sides, summary }: DecisionInput): Decided {
  const { baseline, new: candidate } = sides;
  const counts = countsOf(cases, { baseline: baseline.replayed === true, new: candidate.replayed === true });
  const { mode, margin, alpha, confidence, critical, missing_max_ratio: missingMaxRatio, looks } = gate;
  const given = { margin, alpha, confidence, critical, missingMaxRatio, looks };
  const known = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const counted = gate.allow_removed ? withoutRemoved(counts, critical) : counts.counted;
  const decided = decideCases(counted, { mode, ...known, identical: counts.isIdentical });
  const removed = gate.allow_removed ? [] : counts.removed;
  const withoutExpectations = summary.without_expectations ?? 0;
  const cause = causeOf(decided, { ...counts, counted, removed, cases: cases.length, withoutExpectations });
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

/** Cases that may be gone are not missing, except critical ones. */
function withoutRemoved({ counted, removed }: Counts, critical: readonly string[] = []): readonly CaseTrials[] {
  const gone = new Set(removed.filter(id => !critical.includes(id)));
  return counted.filter(({ id }) => !gone.has(id));
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

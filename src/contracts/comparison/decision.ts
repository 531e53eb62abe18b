import { defined } from '../../base/defined.ts';
import {
  type CaseFinding,
  type CaseTrials,
  decideCases,
  firstOf,
  type GateDecision,
  type GateMode,
  isPaired,
  named,
} from '../gate/decide/index.ts';
import { isWeakened } from './changed.ts';
import { type Counts, countsOf, type TriedCases } from './counts.ts';
import { decideMetrics } from './metrics.ts';
import type { ComparedSide, Comparison, Decision } from './shape.ts';

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
  | 'looks'
> & { readonly mode: GateMode };

/** The gate's decision and its sentence. The verifier recomputes both. */
export interface DecidedComparison {
  readonly decision: Decision;
  readonly reason: string;
  readonly moreTrials: number | null;
}

export interface DecisionInput {
  readonly cases: TriedCases;
  readonly sides: Readonly<Record<'baseline' | 'new', Pick<ComparedSide, 'replayed'>>>;
}

/** Decides from the trials of the cases. Causes that could hide a regression are checked after regressions. */
export function decideComparison(gate: GateSettings, { cases, sides }: DecisionInput): DecidedComparison {
  const { baseline, new: candidate } = sides;
  const counts = countsOf(cases, { baseline: baseline.replayed === true, new: candidate.replayed === true });
  const { mode, margin, alpha, confidence, critical, missing_max_ratio: missingMaxRatio, looks } = gate;
  const given = { margin, alpha, confidence, critical, missingMaxRatio, looks };
  const settings = defined(given);
  const counted = gate.allow_removed ? withoutRemoved(counts, critical) : counts.counted;
  const decided = decideCases(counted, { mode, ...settings, identical: counts.isIdentical });
  const removed = gate.allow_removed ? [] : counts.removed;
  const weakened = gate.allow_weakened ? [] : cases.filter(({ changed }) => isWeakened(changed));
  const known = { ...counts, counted, removed, weakened };
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
      metrics: decideMetrics(gate.tolerances, cases, mode, missingMaxRatio),
      broken: broken.map(findingOf),
      suspects: suspects.map(findingOf),
      removed: [...removed],
      weakened: weakened.map(({ case_id }) => case_id),
    },
    reason: REASONS[cause]?.(known) ?? decided.reason,
    moreTrials: decided.moreTrials,
  };
}

/** Removed cases do not count as missing, unless they are critical. */
function withoutRemoved({ counted, removed }: Counts, critical: readonly string[] = []): readonly CaseTrials[] {
  const gone = new Set(removed.filter(id => !critical.includes(id)));
  return counted.filter(({ id }) => !gone.has(id));
}

interface Known extends Counts {
  readonly weakened: TriedCases;
}

function causeOf({ cause, verdict }: GateDecision, known: Known): Decision['cause'] {
  const { counted, removed, weakened, unreadable, isUnjudged } = known;
  if (verdict === 'regression') return cause;
  if (unreadable) return 'unreadable';
  if (isUnjudged) return 'no_expectations';
  if (cause === 'no_pairs') return cause;
  if (counted.filter(isPaired).every(({ baseline, candidate }) => passesOf(baseline) + passesOf(candidate) === 0))
    return 'all_failing';
  if (removed.length > 0) return 'removed';
  return weakened.length > 0 ? 'weakened' : cause;
}

function passesOf({ planned, again }: CaseTrials['baseline']): number {
  return planned.passes + again.passes;
}

/** Sentences for causes beyond those of the gate. The verifier recomputes them (CM11), so never reword them. */
const REASONS: Readonly<Partial<Record<Decision['cause'], (known: Known) => string>>> = {
  unreadable: ({ unreadable }) =>
    `Most trials of the ${unreadable === 'new' ? 'new side' : 'baseline'} gave no answer that can be read, so the sides cannot be told apart.`,
  no_expectations: () => 'No case has an expectation that can be judged, so nothing was judged.',
  all_failing: ({ counted }) => {
    const cases = counted.filter(isPaired).length;
    return `${cases === 1 ? 'The only case fails' : `All ${cases} cases fail`} on both sides, so nothing could get worse.`;
  },
  removed: ({ removed, weakened }) =>
    `${removed.length === 1 ? 'A case of the baseline is' : `${removed.length} cases of the baseline are`} no longer in the suite: ${named(removed)}. --allow-removed accepts this.${weakened.length > 0 ? ` ${weakenedText(weakened)}` : ''}`,
  weakened: ({ weakened }) => weakenedText(weakened),
};

function weakenedText(weakened: TriedCases): string {
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

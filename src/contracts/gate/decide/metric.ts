import { studentQuantile } from './distributions.ts';

/** What was measured of one case on both sides, a number for each trial. */
export interface CaseMeasure {
  readonly baseline: readonly number[];
  readonly candidate: readonly number[];
}

export interface MetricOptions {
  /**
   * `ratio`: more is worse, and `limit` 0.2 allows a fifth more. `difference`: more is worse, and `limit` is in the unit of
   * the metric. `score`: the same, and less is worse.
   */
  readonly kind: 'ratio' | 'difference' | 'score';
  readonly limit: number;
  /** How sure "within the limit" must be: 0.95. */
  readonly confidence?: number;
}

export interface MetricDecision {
  readonly verdict: 'regression' | 'no_regression' | 'not_enough_evidence';
  /** Cases that have it on both sides. */
  readonly cases: number;
  /** The change over cases and its bounds, up is worse: a share (0.2 is a fifth more), or a difference. Null where too few cases. */
  readonly change: number | null;
  readonly low: number | null;
  readonly high: number | null;
  /** Cases whose ratio is unknown, because they had nothing before and have something now. Absent where there is none. */
  readonly withoutRatio?: number;
}

/**
 * Whether a time, a cost or a score got worse beyond a limit. A regression must be beyond chance and beyond the limit; no
 * regression must rule out more than the limit.
 */
export function decideMetric(measures: Iterable<CaseMeasure>, options: MetricOptions): MetricDecision {
  const { kind, limit, confidence = 0.95 } = options;
  const changes: number[] = [];
  let withoutRatio = 0;
  for (const measure of measures) {
    const change = changeOf(measure, kind);
    if (change === Number.POSITIVE_INFINITY) withoutRatio++;
    else if (change !== undefined) changes.push(change);
  }
  const cases = changes.length;
  const unknown = withoutRatio > 0 ? { withoutRatio } : {};
  if (cases < METRIC_CASES_MIN)
    return { verdict: 'not_enough_evidence', cases, change: null, low: null, high: null, ...unknown };
  const mean = changes.reduce((sum, change) => sum + change, 0) / cases;
  const squares = changes.reduce((sum, change) => sum + (change - mean) ** 2, 0);
  const error = Math.sqrt(squares / (cases * (cases - 1)));
  const high = mean + studentQuantile(1 - confidence, cases - 1) * error;
  const low = mean - studentQuantile((1 - confidence) / 2, cases - 1) * error;
  const allowed = kind === 'ratio' ? Math.log1p(limit) : limit;
  const isWorse = low > 0 && mean > allowed;
  const shown = (value: number): number => (kind === 'ratio' ? Math.expm1(value) : value);
  return {
    verdict: isWorse ? 'regression' : high <= allowed ? 'no_regression' : 'not_enough_evidence',
    cases,
    change: shown(mean),
    low: shown(low),
    high: shown(high),
    ...unknown,
  };
}

/** Fewer cases say nothing of their spread. */
export const METRIC_CASES_MIN = 6;

/** The change of a case, up is worse. Infinite where a ratio grew from nothing; undefined where it is unknown. */
function changeOf({ baseline, candidate }: CaseMeasure, kind: MetricOptions['kind']): number | undefined {
  if (baseline.length === 0 || candidate.length === 0) return undefined;
  if (kind === 'score') return minus(meanOf(baseline), meanOf(candidate));
  if (kind === 'difference') return minus(meanOf(candidate), meanOf(baseline));
  if ([...baseline, ...candidate].every(value => value > 0))
    return minus(meanOf(candidate.map(Math.log)), meanOf(baseline.map(Math.log)));
  // Nothing has no logarithm, so the means are compared.
  const [before, now] = [meanOf(baseline), meanOf(candidate)];
  if (now === 0) return before === 0 ? 0 : undefined;
  return Math.log(now / before);
}

/** Means of equal numbers differ in their last digits, which would be a change without any. */
function minus(one: number, other: number): number {
  const difference = one - other;
  return Math.abs(difference) <= 1e-12 * Math.max(Math.abs(one), Math.abs(other)) ? 0 : difference;
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

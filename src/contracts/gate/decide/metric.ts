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
}

/**
 * Whether a time, a cost or a score got worse beyond a limit. A regression must be beyond chance and beyond the limit; no
 * regression must rule out more than the limit.
 */
export function decideMetric(measures: Iterable<CaseMeasure>, options: MetricOptions): MetricDecision {
  const { kind, limit, confidence = 0.95 } = options;
  const changes: number[] = [];
  for (const measure of measures) {
    const change = changeOf(measure, kind);
    if (change !== undefined) changes.push(change);
  }
  const cases = changes.length;
  if (cases < METRIC_CASES_MIN) return { verdict: 'not_enough_evidence', cases, change: null, low: null, high: null };
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
  };
}

/** Fewer cases say nothing of their spread. */
export const METRIC_CASES_MIN = 6;

function changeOf({ baseline, candidate }: CaseMeasure, kind: MetricOptions['kind']): number | undefined {
  if (baseline.length === 0 || candidate.length === 0) return undefined;
  if (kind === 'score') return meanOf(baseline) - meanOf(candidate);
  if (kind === 'difference') return meanOf(candidate) - meanOf(baseline);
  // A ratio of nothing is unknown.
  if (![...baseline, ...candidate].every(value => value > 0)) return undefined;
  return meanOf(candidate.map(Math.log)) - meanOf(baseline.map(Math.log));
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

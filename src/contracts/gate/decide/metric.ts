import { studentQuantile } from './distributions.ts';

/** The values of one metric for one case, one number per trial. */
export interface CaseMeasure {
  readonly baseline: readonly number[];
  readonly candidate: readonly number[];
}

export interface MetricOptions {
  /**
   * `ratio`: higher is worse; `limit` 0.2 allows 20 % more. `difference`: higher is worse; `limit` is in the metric's unit.
   * `score`: like `difference`, but lower is worse.
   */
  readonly kind: 'ratio' | 'difference' | 'score';
  readonly limit: number;
  /** How the trials of a case become one value. Default: `mean`. */
  readonly statistic?: 'mean' | 'median';
  /** The confidence required for "within the limit". Default: 0.95. */
  readonly confidence?: number;
}

export interface MetricDecision {
  readonly verdict: 'regression' | 'no_regression' | 'not_enough_evidence';
  /** Cases with values on both sides. */
  readonly cases: number;
  /** The mean change and its bounds; positive is worse. A share (0.2 is 20 % more) or a difference. Null with too few cases. */
  readonly change: number | null;
  readonly low: number | null;
  readonly high: number | null;
  /** Cases that went from 0 to more than 0, so they have no ratio. Absent if there are none. */
  readonly withoutRatio?: number;
}

/**
 * Whether a time, cost or score got worse by more than a limit. `regression` requires a statistically significant change
 * above the limit. `no_regression` requires that a change above the limit is ruled out.
 */
export function decideMetric(measures: Iterable<CaseMeasure>, options: MetricOptions): MetricDecision {
  const { kind, limit, statistic = 'mean', confidence = 0.95 } = options;
  const centreOf = statistic === 'median' ? medianOf : meanOf;
  const changes: number[] = [];
  let withoutRatio = 0;
  for (const measure of measures) {
    const change = changeOf(measure, kind, centreOf);
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

/** The spread cannot be estimated from fewer cases. */
export const METRIC_CASES_MIN = 6;

/** The change of a case; positive is worse. Infinity if a ratio grew from 0; undefined if unknown. */
function changeOf(
  { baseline, candidate }: CaseMeasure,
  kind: MetricOptions['kind'],
  centreOf: (values: readonly number[]) => number,
): number | undefined {
  if (baseline.length === 0 || candidate.length === 0) return undefined;
  if (kind === 'score') return minus(centreOf(baseline), centreOf(candidate));
  if (kind === 'difference') return minus(centreOf(candidate), centreOf(baseline));
  if ([...baseline, ...candidate].every(value => value > 0))
    return minus(centreOf(candidate.map(Math.log)), centreOf(baseline.map(Math.log)));
  // 0 has no logarithm, so compare the values themselves.
  const [before, now] = [centreOf(baseline), centreOf(candidate)];
  if (now === 0) return before === 0 ? 0 : undefined;
  return Math.log(now / before);
}

/** Treats differences from rounding as no change. */
function minus(one: number, other: number): number {
  const difference = one - other;
  return Math.abs(difference) <= 1e-12 * Math.max(Math.abs(one), Math.abs(other)) ? 0 : difference;
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function medianOf(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  return meanOf([...sorted.subarray((sorted.length - 1) >> 1, (sorted.length >> 1) + 1)]);
}

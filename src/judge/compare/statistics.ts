import { studentQuantile } from '../../contracts/gate/decide/index.ts';

/** A mean with its 95 % interval, by Student's t. For a single value, all three are that value. */
export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

export function meanInterval(values: Float64Array): Interval {
  const { length: n } = values;
  const mean = meanOf(values);
  if (n < 2) return { mean, low: mean, high: mean };
  let squares = 0;
  for (const value of values) squares += (value - mean) ** 2;
  const reach = squares === 0 ? 0 : studentQuantile(0.025, n - 1) * Math.sqrt(squares / (n * (n - 1)));
  return { mean, low: mean - reach, high: mean + reach };
}

export function meanOf(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}

/** A quantile of sorted values, interpolated between neighbours. */
export function percentile(sorted: Float64Array, share: number): number {
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  const low = sorted[below] as number;
  const high = sorted[Math.min(below + 1, sorted.length - 1)] as number;
  // This form is exact if the two neighbours are equal.
  return low + (high - low) * (at - below);
}

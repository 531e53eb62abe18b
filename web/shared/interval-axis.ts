/** A pass rate and its confidence interval. */
export interface Interval {
  readonly rate: number;
  readonly low: number;
  readonly high: number;
}

export interface Axis {
  readonly from: number;
  readonly to: number;
  /** From left to right. */
  readonly ticks: readonly number[];
}

/** An axis around all intervals, inside 0 and 1, with at most five steps. */
export function axisOf(intervals: Iterable<Pick<Interval, 'low' | 'high'>>): Axis {
  const all = [...intervals];
  const low = Math.min(...all.map(one => one.low));
  const high = Math.max(...all.map(one => one.high));
  for (const step of STEPS) {
    const whole = Math.round(1 / step);
    const first = Math.min(whole - 1, Math.floor(low / step + ROUNDING));
    const last = Math.max(first + 1, Math.ceil(high / step - ROUNDING));
    if (last - first > STEPS_MAX) continue;
    const ticks = Array.from(
      { length: last - first + 1 },
      (_, index) => Math.round((first + index) * step * 100) / 100,
    );
    return { from: ticks[0] ?? 0, to: ticks.at(-1) ?? 1, ticks };
  }
  return { from: 0, to: 1, ticks: [0, 1] };
}

/** Step sizes that divide 1. */
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2];
const STEPS_MAX = 5;
/** 0.3 / 0.1 is a little less than 3. */
const ROUNDING = 1e-9;

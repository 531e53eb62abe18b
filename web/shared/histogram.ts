/** The values of a metric, in ascending order. */
export type Values = Float64Array;

export interface Bin {
  readonly from: number;
  readonly to: number;
  readonly baseline: number;
  readonly candidate: number;
}

export interface Histogram {
  readonly bins: readonly Bin[];
  readonly ticks: readonly number[];
  readonly isLog: boolean;
  /** The position of a value on the axis, from 0 to 1. */
  readonly place: (value: number) => number;
}

const BINS = 36;
const SMALLEST = 1e-9;
const SPAN_MAX = 1e5;

/** Puts both sides into the same bins. The scale is logarithmic if the values span a wide range. */
export function histogramOf(baseline: Values, candidate: Values): Histogram | undefined {
  let low = Number.POSITIVE_INFINITY;
  let high = 0;
  for (const values of [baseline, candidate]) {
    for (const value of values) {
      if (value > high) high = value;
      if (value > 0 && value < low) low = value;
    }
  }
  if (high < SMALLEST) return undefined;
  // A single tiny value must not stretch the axis.
  low = Math.max(low, high / SPAN_MAX);
  const isLog = high / low > 25;
  const edge = isLog ? [niceBelow(low), niceAbove(high)] : [0, Math.min(Number.MAX_VALUE, high * 1.02)];
  const [from, to] = edge as [number, number];
  const place = (value: number): number => {
    const share = isLog ? Math.log(Math.max(value, from) / from) / Math.log(to / from) : value / to;
    return Math.min(1, Math.max(0, share));
  };
  const value = (share: number): number => (isLog ? from * (to / from) ** share : to * share);
  const counts = [baseline, candidate].map(values => {
    const counted = Array.from({ length: BINS }, () => 0);
    for (const one of values) {
      const bin = Math.min(BINS - 1, Math.floor(place(one) * BINS));
      counted[bin] = (counted[bin] ?? 0) + 1;
    }
    return counted;
  });
  const bins = Array.from({ length: BINS }, (_, index) => ({
    from: value(index / BINS),
    to: value((index + 1) / BINS),
    baseline: counts[0]?.[index] ?? 0,
    candidate: counts[1]?.[index] ?? 0,
  }));
  return { bins, isLog, place, ticks: isLog ? logTicks(from, to) : linearTicks(to) };
}

const power = (value: number): number => 10 ** Math.floor(Math.log10(value));
const niceBelow = (value: number): number => power(value) * ([5, 2, 1].find(step => step * power(value) <= value) ?? 1);
/** Finite, because an axis up to infinity would have infinitely many ticks. */
const niceAbove = (value: number): number =>
  Math.min(Number.MAX_VALUE, power(value) * ([1, 2, 5].find(step => step * power(value) >= value) ?? 10));

function linearTicks(to: number): number[] {
  const step = niceAbove(to / 6);
  return Array.from({ length: Math.floor(to / step) + 1 }, (_, index) => index * step);
}

function logTicks(from: number, to: number): number[] {
  const ticks: number[] = [];
  for (let decade = power(from); decade <= to; decade *= 10) {
    for (const step of [1, 2, 5]) {
      const tick = decade * step;
      if (tick >= from * 0.999 && tick <= to * 1.001) ticks.push(tick);
    }
  }
  return ticks.length > 8
    ? ticks.filter(tick => Math.abs(Math.log10(tick) - Math.round(Math.log10(tick))) < 1e-9)
    : ticks;
}

/** Interpolates between neighbours of sorted values, as the comparison does. */
export function quantile(sorted: Values, share: number): number | null {
  const at = share * (sorted.length - 1);
  const low = sorted[Math.floor(at)];
  const high = sorted[Math.ceil(at)];
  return low === undefined || high === undefined ? null : low + (high - low) * (at - Math.floor(at));
}

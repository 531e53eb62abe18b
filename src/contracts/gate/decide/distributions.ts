/** The probability that a standard normal variable exceeds `z`. */
export function normalTail(z: number): number {
  if (z < 0) return 1 - normalTail(-z);
  const density = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
  if (z > SERIES_Z_MAX) return (density / z) * (1 - 1 / z ** 2 + 3 / z ** 4 - 15 / z ** 6);
  let term = z;
  let sum = z;
  for (let odd = 3; term > sum * Number.EPSILON; odd += 2) {
    term *= (z * z) / odd;
    sum += term;
  }
  return Math.max(0, 0.5 - density * sum);
}

/** Above this z, the series loses digits and the asymptotic form is accurate enough. */
const SERIES_Z_MAX = 6;

/** The value that a standard normal variable exceeds with probability `tail`. */
export function normalQuantile(tail: number): number {
  return quantile(tail, normalTail);
}

/** The value that Student's t with `freedom` degrees of freedom exceeds with probability `tail`; Infinity if `freedom` < 1. */
export function studentQuantile(tail: number, freedom: number): number {
  if (freedom < 1) return Number.POSITIVE_INFINITY;
  const key = `${tail} ${freedom}`;
  const known = QUANTILES.get(key);
  if (known !== undefined) return known;
  const found = quantile(tail, t => studentTail(t, freedom));
  if (QUANTILES.size >= QUANTILES_MAX) QUANTILES.clear();
  QUANTILES.set(key, found);
  return found;
}

const QUANTILES = new Map<string, number>();
const QUANTILES_MAX = 1_000;

function studentTail(t: number, freedom: number): number {
  const half = incompleteBeta(freedom / (freedom + t * t), freedom / 2, 0.5) / 2;
  return t >= 0 ? half : 1 - half;
}

/** Bisects until the interval is negligible. */
function quantile(tail: number, tailOf: (value: number) => number): number {
  let low = -QUANTILE_MAX;
  let high = QUANTILE_MAX;
  for (let step = 0; step < HALVINGS; step++) {
    const middle = (low + high) / 2;
    if (tailOf(middle) > tail) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** With one degree of freedom, the 99.99 % quantile is 3,183. */
const QUANTILE_MAX = 1e5;
const HALVINGS = 70;

/** The regularized incomplete beta function, by its continued fraction (Lentz). */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(a * Math.log(x) + b * Math.log(1 - x) - logBeta(a, b));
  // The fraction converges quickly on one side only; the other side follows by symmetry.
  return x < (a + 1) / (a + b + 2) ? (front * fraction(x, a, b)) / a : 1 - (front * fraction(1 - x, b, a)) / b;
}

function fraction(x: number, a: number, b: number): number {
  let c = 1;
  let d = 1 / nonZero(1 - ((a + b) * x) / (a + 1));
  let value = d;
  for (let m = 1; m <= TERMS_MAX; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / nonZero(1 + even * d);
    c = nonZero(1 + even / c);
    value *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / nonZero(1 + odd * d);
    c = nonZero(1 + odd / c);
    const factor = d * c;
    value *= factor;
    if (Math.abs(factor - 1) < 1e-14) break;
  }
  return value;
}

const TERMS_MAX = 10_000;

function nonZero(value: number): number {
  return Math.abs(value) < 1e-300 ? 1e-300 : value;
}

function logBeta(a: number, b: number): number {
  return logGamma(a) + logGamma(b) - logGamma(a + b);
}

/** Stirling's series, after shifting the argument to where the series is accurate. */
function logGamma(value: number): number {
  let x = value;
  let shift = 0;
  for (; x < 15; x++) shift -= Math.log(x);
  const inverse = 1 / (x * x);
  const series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / x;
  return shift + (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + series;
}

/** The exact two-sided p for this many pairs that broke or recovered, if both are equally likely. */
export function mcnemar(broke: number, mended: number): number {
  const pairs = broke + mended;
  const atOnce = (k: number): number =>
    Math.exp(logGamma(pairs + 1) - logGamma(k + 1) - logGamma(pairs - k + 1) - pairs * Math.LN2);
  let tail = 0;
  for (let k = 0; k <= Math.min(broke, mended); k++) tail += atOnce(k);
  return broke === mended ? 1 : Math.min(1, 2 * tail);
}

/** P(X = k) for k from 0 to `draws`. X counts the passes in a draw from `total` trials, `passes` of which passed. */
export function hypergeometric(total: number, passes: number, draws: number): Float64Array {
  const chances = new Float64Array(draws + 1);
  const least = Math.max(0, draws - (total - passes));
  const most = Math.min(draws, passes);
  // Relative to the mode, no term overflows.
  const mode = Math.min(most, Math.max(least, Math.floor(((draws + 1) * (passes + 1)) / (total + 2))));
  chances[mode] = 1;
  let sum = 1;
  for (let k = mode; k < most; k++) {
    const ratio = ((passes - k) * (draws - k)) / ((k + 1) * (total - passes - draws + k + 1));
    sum += chances[k + 1] = (chances[k] as number) * ratio;
  }
  for (let k = mode; k > least; k--) {
    const ratio = (k * (total - passes - draws + k)) / ((passes - k + 1) * (draws - k + 1));
    sum += chances[k - 1] = (chances[k] as number) * ratio;
  }
  for (let k = least; k <= most; k++) chances[k] = (chances[k] as number) / sum;
  return chances;
}

/** Drops the last digits, which depend on the order of summation, so that no verdict depends on them. */
export function rounded(value: number): number {
  return Math.round(value * 1e12) / 1e12 || 0;
}

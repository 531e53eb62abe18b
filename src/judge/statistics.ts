export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
  /** How many pairs each resample drew. */
  readonly drawn: number;
}

/**
 * A 95 % interval of a mean, by drawing from the differences of pairs again and again. The draws are the same every
 * time. Of very many pairs each resample draws fewer than there are, and the interval is narrowed by what the root of
 * their number makes of that.
 */
export function bootstrap(differences: Float64Array): Interval {
  const pairs = differences.length;
  const mean = meanOf(differences);
  const drawn = Math.min(pairs, DRAWN_MAX);
  const [first = 0] = differences;
  if (differences.every(difference => difference === first)) return { mean: first, low: first, high: first, drawn };
  const means = resampledMeans(differences, drawn).sort();
  const narrowed = (bound: number): number => mean + (bound - mean) * Math.sqrt(drawn / pairs);
  return {
    mean,
    // Rounding may put the mean of equal numbers beside them.
    low: Math.min(mean, narrowed(percentile(means, 0.025))),
    high: Math.max(mean, narrowed(percentile(means, 0.975))),
    drawn,
  };
}

const RESAMPLES = 2_000;
const DRAWN_MAX = 10_000;

export function meanOf(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}

/** The value below which a share of sorted values lies, between neighbours in proportion. */
export function percentile(sorted: Float64Array, share: number): number {
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  const low = sorted[below] as number;
  const high = sorted[Math.min(below + 1, sorted.length - 1)] as number;
  // Written so that two equal neighbours give exactly their value.
  return low + (high - low) * (at - below);
}

/**
 * Means of random draws with replacement, by chance that is the same every time: Chris Doty-Humphrey's small fast counter.
 * It is written into the loop because tens of millions of draws would each pay for a call.
 */
function resampledMeans(values: Float64Array, drawn: number): Float64Array {
  const means = new Float64Array(RESAMPLES);
  const scale = values.length / 2 ** 32;
  let a = 0x9e3779b9 | 0;
  let b = 0x243f6a88 | 0;
  let c = 0xb7e15162 | 0;
  let counter = 1;
  for (let resample = -1; resample < RESAMPLES; resample++) {
    let sum = 0;
    for (let draw = 0; draw < drawn; draw++) {
      const chance = (((a + b) | 0) + counter) | 0;
      counter = (counter + 1) | 0;
      a = b ^ (b >>> 9);
      b = (c + (c << 3)) | 0;
      c = (((c << 21) | (c >>> 11)) + chance) | 0;
      sum += values[((chance >>> 0) * scale) | 0] as number;
    }
    // The first round only stirs.
    if (resample >= 0) means[resample] = sum / drawn;
  }
  return means;
}

import type { Count } from './case-test.ts';
import { hypergeometric, normalQuantile, normalTail, rounded, studentQuantile } from './distributions.ts';

/** A case with trials on both sides. */
export interface CountPair {
  readonly baseline: Count;
  readonly candidate: Count;
}

export interface SuiteReading {
  /** The drop in the mean pass rate over cases; above 0 is worse. */
  readonly drop: number;
  /** The probability of a drop this large if nothing changed. */
  readonly p: number;
  /** The largest drop that the trials do not rule out. */
  readonly high: number;
  /** The drop that this many trials would detect with 80 % power. */
  readonly detectable: number;
  /** Additional trials of every case that would settle the verdict with 80 % power; null above 1,000. */
  readonly moreTrials: number | null;
}

export interface SuiteLevels {
  readonly margin: number;
  /** The one-sided significance level for "worse". */
  readonly worse: number;
  /** One minus the required confidence that the drop is at most the margin. */
  readonly unsafe: number;
  /** How many times the suite may be evaluated. */
  readonly looks: number;
}

/** Expects planned trials only: reruns were selected by the results of earlier trials. */
export function readSuite(pairs: readonly CountPair[], levels: SuiteLevels): SuiteReading {
  const drops = Float64Array.from(pairs, dropOf);
  const drop = rounded(sumOf(drops) / pairs.length);
  const spread = spreadOf(pairs, drops, drop, levels);
  return {
    drop,
    p: drop > 0 ? rounded(permutationP(pairs)) : 1,
    high: rounded(upperBound(drop, spread, levels)),
    detectable: rounded(
      Math.min(1, (normalQuantile(levelFor(levels.worse, levels.looks)) + POWER) * Math.sqrt(spread.atLeast)),
    ),
    moreTrials: moreTrials(drop, spread, levels),
  };
}

/** The level of each test when the suite is evaluated up to five times: Pocock's boundaries. */
export function levelFor(tail: number, looks: number, factors = POCOCK_WORSE): number {
  return looks === 1 ? tail : normalTail(normalQuantile(tail) * (factors[looks - 1] as number));
}

/** How much wider the boundaries at 2.5 % and 5 % get with the number of looks. */
const POCOCK_WORSE: readonly number[] = [1, 2.178 / 1.96, 2.289 / 1.96, 2.361 / 1.96, 2.413 / 1.96];
const POCOCK_UNSAFE: readonly number[] = [1, 1.875 / 1.645, 1.992 / 1.645, 2.067 / 1.645, 2.122 / 1.645];

export const LOOKS_MAX = POCOCK_WORSE.length;

function dropOf({ baseline, candidate }: CountPair): number {
  return baseline.passes / baseline.trials - candidate.passes / candidate.trials;
}

/**
 * An exact permutation test: p is the share of all side swaps with a larger drop, plus half of those with an equal drop.
 * With one trial per side, this is McNemar's test with mid-p.
 */
function permutationP(pairs: readonly CountPair[]): number {
  const varied = pairs.filter(isVaried);
  const unit = varied.reduce((steps, { baseline, candidate }) => {
    return steps > UNIT_MAX ? steps : lcm(lcm(steps, baseline.trials), candidate.trials);
  }, 1);
  return varied.length > EXACT_CASES_MAX || unit > UNIT_MAX ? normalP(varied) : exactP(varied, unit);
}

/** Above either limit, the exact sum is slow and the normal approximation is accurate. */
const EXACT_CASES_MAX = 300;
const UNIT_MAX = 60;

/** Whether the case has both passes and failures. */
export function isVaried({ baseline, candidate }: CountPair): boolean {
  const passes = baseline.passes + candidate.passes;
  return passes > 0 && passes < baseline.trials + candidate.trials;
}

/** Convolves the drops of all cases, in steps of 1/unit. */
function exactP(pairs: readonly CountPair[], unit: number): number {
  let chances = Float64Array.of(1);
  let least = 0;
  let seen = 0;
  for (const { baseline, candidate } of pairs) {
    const passes = baseline.passes + candidate.passes;
    const ways = hypergeometric(baseline.trials + candidate.trials, passes, candidate.trials);
    const stepsOf = (passed: number): number =>
      Math.round(((passes - passed) / baseline.trials - passed / candidate.trials) * unit);
    const fewest = Math.max(0, passes - baseline.trials);
    const most = Math.min(candidate.trials, passes);
    const lowest = stepsOf(most);
    const next = new Float64Array(chances.length + stepsOf(fewest) - lowest);
    for (let passed = fewest; passed <= most; passed++) {
      const way = ways[passed] as number;
      const shift = stepsOf(passed) - lowest;
      for (let at = 0; at < chances.length; at++)
        next[at + shift] = (next[at + shift] as number) + (chances[at] as number) * way;
    }
    chances = next;
    least += lowest;
    seen += stepsOf(candidate.passes);
  }
  const at = seen - least;
  return sumOf(chances.subarray(at + 1)) + (chances[at] as number) / 2;
}

function normalP(pairs: readonly CountPair[]): number {
  let sum = 0;
  let variance = 0;
  for (const pair of pairs) {
    const { baseline, candidate } = pair;
    const total = baseline.trials + candidate.trials;
    const rate = (baseline.passes + candidate.passes) / total;
    sum += dropOf(pair);
    variance += (rate * (1 - rate) * total ** 2) / ((total - 1) * baseline.trials * candidate.trials);
  }
  return normalTail(sum / Math.sqrt(variance));
}

/** The uncertainty of the mean drop. */
interface Spread {
  /** The variance of the mean drop. The unit is the case, because trials of one case are correlated. */
  readonly variance: number;
  /** `variance`, but at least that of a suite at the margin, so that the interval is never empty. */
  readonly atLeast: number;
  readonly t: number;
  /** The effective number of trials per side. */
  readonly worth: number;
  /** With fewer effective trials, even zero failures cannot rule out the margin. */
  readonly worthMin: number;
  readonly cases: number;
}

function spreadOf(pairs: readonly CountPair[], drops: Float64Array, drop: number, levels: SuiteLevels): Spread {
  const cases = pairs.length;
  const { margin } = levels;
  const unsafe = levelFor(levels.unsafe, levels.looks, POCOCK_UNSAFE);
  let squares = 0;
  for (const one of drops) squares += (one - drop) ** 2;
  const variance = cases > 1 ? squares / (cases * (cases - 1)) : 0;
  let inverse = 0;
  for (const { baseline, candidate } of pairs) inverse += 1 / Math.min(baseline.trials, candidate.trials);
  const worth = cases ** 2 / inverse;
  return {
    variance,
    atLeast: Math.max(variance, (margin * (1 - margin)) / worth),
    t: studentQuantile(unsafe, cases - 1),
    worth,
    worthMin: Math.ceil(Math.log(unsafe) / Math.log(1 - margin)),
    cases,
  };
}

function upperBound(drop: number, { atLeast, t, worth, worthMin }: Spread, { unsafe, looks }: SuiteLevels): number {
  const high = drop + t * Math.sqrt(atLeast);
  const none = worth < worthMin ? 1 - levelFor(unsafe, looks, POCOCK_UNSAFE) ** (1 / worth) : 0;
  return Math.min(1, Math.max(high, none));
}

function moreTrials(drop: number, spread: Spread, { margin, worse, looks }: SuiteLevels): number | null {
  const { variance, atLeast, t, worth, worthMin, cases } = spread;
  const each = worth / cases;
  const toRuleOut = Math.max(
    ((t + POWER) ** 2 * variance) / (margin - Math.max(drop, 0)) ** 2,
    (t ** 2 * atLeast) / margin ** 2,
    worthMin / worth,
  );
  const z = normalQuantile(levelFor(worse, looks));
  const toShow = ((z + POWER) ** 2 * atLeast) / drop ** 2;
  const factor = Math.min(drop < margin ? toRuleOut : Infinity, drop > 0 ? toShow : Infinity);
  const more = Math.max(1, Math.ceil(each * factor - each));
  return more <= MORE_TRIALS_MAX ? more : null;
}

/** The normal quantile for 80 % power. */
const POWER = 0.842;
const MORE_TRIALS_MAX = 1_000;

function sumOf(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}

function lcm(a: number, b: number): number {
  let [high, low] = [a, b];
  while (low > 0) [high, low] = [low, high % low];
  return (a / high) * b;
}

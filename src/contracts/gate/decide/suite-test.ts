import type { Count } from './case-test.ts';
import { hypergeometric, normalQuantile, normalTail, studentQuantile } from './distributions.ts';

/** A case with trials on both sides. */
export interface CasePair {
  readonly baseline: Count;
  readonly candidate: Count;
}

/** What the whole suite shows: how much less often its cases pass, how likely by chance, and what cannot be ruled out. */
export interface SuiteReading {
  /** The drop of the mean pass rate, over cases; above 0 is worse. */
  readonly drop: number;
  /** How likely a drop of this size or more is if nothing has changed. */
  readonly p: number;
  /** The largest drop that the trials do not rule out. */
  readonly high: number;
  /** The drop that as many trials as these would show in four of five times. */
  readonly detectable: number;
  /** How many more trials of every case would settle it in four of five times; null beyond 1,000. */
  readonly moreTrials: number | null;
}

export interface SuiteLevels {
  readonly margin: number;
  /** The level at which the suite is worse, one-sided. */
  readonly worse: number;
  /** One minus the confidence in "at most the margin". */
  readonly unsafe: number;
  /** How often the suite may be looked at. */
  readonly looks: number;
}

/** Reads planned trials only: trials that were asked again were chosen by what the first ones showed. */
export function readSuite(pairs: readonly CasePair[], levels: SuiteLevels): SuiteReading {
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

/** Sums of the same numbers in another order differ in their last digits; no verdict may depend on those. */
function rounded(value: number): number {
  return Math.round(value * 1e12) / 1e12 || 0;
}

/** The level of each test once it may be repeated: Pocock's limits for up to five looks. */
export function levelFor(tail: number, looks: number): number {
  const [factor] = POCOCK[looks - 1] as readonly [number, number];
  return looks === 1 ? tail : normalTail(normalQuantile(tail) * factor);
}

function unsafeLevelFor(tail: number, looks: number): number {
  const [, factor] = POCOCK[looks - 1] as readonly [number, number];
  return looks === 1 ? tail : normalTail(normalQuantile(tail) * factor);
}

/** How much wider the limits of 2.5 % and of 5 % get with the number of looks. */
const POCOCK: readonly (readonly [number, number])[] = [
  [1, 1],
  [2.178 / 1.96, 1.875 / 1.645],
  [2.289 / 1.96, 1.992 / 1.645],
  [2.361 / 1.96, 2.067 / 1.645],
  [2.413 / 1.96, 2.122 / 1.645],
];

export const LOOKS_MAX = POCOCK.length;

function dropOf({ baseline, candidate }: CasePair): number {
  return baseline.passes / baseline.trials - candidate.passes / candidate.trials;
}

/**
 * The sides of each case are exchanged in every possible way; the p is the share of exchanges that drop more, and half of
 * those that drop as much. With one trial a side this is McNemar's test with mid-p.
 */
function permutationP(pairs: readonly CasePair[]): number {
  const varied = pairs.filter(isVaried);
  const unit = varied.reduce((steps, { baseline, candidate }) => {
    return steps > UNIT_MAX ? steps : lcm(lcm(steps, baseline.trials), candidate.trials);
  }, 1);
  return varied.length > EXACT_CASES_MAX || unit > UNIT_MAX ? normalP(varied) : exactP(varied, unit);
}

/** Beyond these the sum is normal for every practical purpose, and the exact sum takes long. */
const EXACT_CASES_MAX = 300;
const UNIT_MAX = 60;

/** It shows both outcomes. */
export function isVaried({ baseline, candidate }: CasePair): boolean {
  const passes = baseline.passes + candidate.passes;
  return passes > 0 && passes < baseline.trials + candidate.trials;
}

/** Convolves the drops of all cases, in steps of 1/unit. */
function exactP(pairs: readonly CasePair[], unit: number): number {
  let chances = Float64Array.of(1);
  let least = 0;
  let seen = 0;
  for (const { baseline, candidate } of pairs) {
    const passes = baseline.passes + candidate.passes;
    const ways = hypergeometric(baseline.trials + candidate.trials, passes, candidate.trials);
    const stepsOf = (now: number): number =>
      Math.round(((passes - now) / baseline.trials - now / candidate.trials) * unit);
    const fewest = Math.max(0, passes - baseline.trials);
    const most = Math.min(candidate.trials, passes);
    const lowest = stepsOf(most);
    const next = new Float64Array(chances.length + stepsOf(fewest) - lowest);
    for (let now = fewest; now <= most; now++) {
      const way = ways[now] as number;
      const shift = stepsOf(now) - lowest;
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

function normalP(pairs: readonly CasePair[]): number {
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

/** How far the mean drop may lie from the true one. */
interface Spread {
  /** The variance of the mean drop; the case is the unit, because trials of a case are alike. */
  readonly variance: number;
  /** The same, and never less than a suite at the margin would show: where nothing differed, the interval is not empty. */
  readonly atLeast: number;
  readonly t: number;
  /** Trials a side that the suite is worth. */
  readonly worth: number;
  /** Fewer trials than this cannot rule out the margin even if none of them failed. */
  readonly worthMin: number;
  readonly cases: number;
}

function spreadOf(pairs: readonly CasePair[], drops: Float64Array, drop: number, levels: SuiteLevels): Spread {
  const cases = pairs.length;
  const { margin } = levels;
  const unsafe = unsafeLevelFor(levels.unsafe, levels.looks);
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
  const none = worth < worthMin ? 1 - unsafeLevelFor(unsafe, looks) ** (1 / worth) : 0;
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

/** Four of five times. */
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

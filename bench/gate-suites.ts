/** Suites of cases with known pass rates, and trials drawn from them. */
import type { CaseTrials, SideTrials } from '../src/contracts/gate/decide/index.ts';

/** Returns a number in [0, 1). Equal seeds give equal sequences. */
export type Chance = () => number;

/** Marsaglia's xorshift with a Weyl sequence. */
export function chanceFrom(seed: number): Chance {
  let x = (seed ^ 0x6d2b79f5) >>> 0 || 1;
  let weyl = seed >>> 0;
  const next = (): number => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    weyl = (weyl + 0x61c88647) >>> 0;
    return ((x + weyl) >>> 0) / 2 ** 32;
  };
  for (let stir = 0; stir < 20; stir++) next();
  return next;
}

/** The pass rate of every case. */
export type Rates = Float64Array;

export const SUITES = {
  /** 70 % always pass, 5 % always fail, and the rest pass sometimes. */
  real: (n, chance) => {
    return ratesOf(n, index => {
      const place = (index + 0.5) / n;
      return place < 0.7 ? 1 : place < 0.75 ? 0 : beta(3, 1.5, chance);
    });
  },
  flaky: n => ratesOf(n, () => 0.9),
  /** Most cases pass almost always. */
  mixed: (n, chance) => ratesOf(n, () => beta(4.5, 0.5, chance)),
  deterministic: n => ratesOf(n, index => ((index + 0.5) / n < 0.9 ? 1 : 0)),
} as const satisfies Record<string, (n: number, chance: Chance) => Rates>;

export type SuiteName = keyof typeof SUITES;

export const TRUTHS = {
  same: rates => rates,
  better: rates => rates.map(rate => rate + (1 - rate) / 2),
  'drop 5': rates => dropped(rates, 0.05),
  'drop 10': rates => dropped(rates, 0.1),
  'drop 20': rates => dropped(rates, 0.2),
  '1 in 20 breaks': rates => broken(rates, 0.05),
  '1 in 5 breaks': rates => broken(rates, 0.2),
  'breaks and mends': rates => mended(broken(rates, 0.05), rates),
} as const satisfies Record<string, (rates: Rates) => Rates>;

export type Truth = keyof typeof TRUTHS;

/** Lowers each rate in proportion, so that the mean drops by `points`. */
function dropped(rates: Rates, points: number): Rates {
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  return rates.map(rate => rate * Math.max(0, 1 - points / mean));
}

/** Makes the best cases always fail. */
function broken(rates: Rates, share: number): Rates {
  const count = Math.max(1, Math.round(share * rates.length));
  const best = [...rates.keys()].sort((a, b) => (rates[b] as number) - (rates[a] as number)).slice(0, count);
  const after = Float64Array.from(rates);
  for (const index of best) after[index] = 0;
  return after;
}

/** Makes the worst of the other cases always pass, as many as were broken. */
function mended(after: Rates, before: Rates): Rates {
  const isBroken = (index: number): boolean => after[index] !== before[index];
  const all = [...after.keys()];
  const count = all.filter(isBroken).length;
  const worst = all.filter(index => !isBroken(index)).sort((a, b) => (after[a] as number) - (after[b] as number));
  for (const index of worst.slice(0, count)) after[index] = 1;
  return after;
}

function ratesOf(n: number, rate: (index: number) => number): Rates {
  return Float64Array.from({ length: n }, (_, index) => rate(index));
}

/** Draws the trials of every case on both sides. */
export function drawn(before: Rates, now: Rates, kBefore: number, kNow: number, chance: Chance): CaseTrials[] {
  return Array.from(before, (rate, index) => ({
    id: `case-${index}`,
    baseline: sideOf(rate, kBefore, chance),
    candidate: sideOf(now[index] as number, kNow, chance),
  }));
}

function sideOf(rate: number, trials: number, chance: Chance): SideTrials {
  return { planned: { passes: passesOf(rate, trials, chance), trials }, again: { passes: 0, trials: 0 } };
}

export function passesOf(rate: number, trials: number, chance: Chance): number {
  let passes = 0;
  for (let trial = 0; trial < trials; trial++) passes += Number(chance() < rate);
  return passes;
}

function beta(a: number, b: number, chance: Chance): number {
  const x = gamma(a, chance);
  return x / (x + gamma(b, chance));
}

/** Marsaglia and Tsang's method. For shapes below 1, uses the usual power of a uniform number. */
function gamma(shape: number, chance: Chance): number {
  if (shape < 1) return gamma(shape + 1, chance) * chance() ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = normal(chance);
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - chance()) < (x * x) / 2 + d - d * v + d * Math.log(v)) return d * v;
  }
}

export function normal(chance: Chance): number {
  return Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance());
}

import { hypergeometric } from './distributions.ts';

/** How many trials passed. */
export interface Count {
  readonly passes: number;
  readonly trials: number;
}

/**
 * The probability that an unchanged case fails this much more often in the candidate: Boschloo's exact unconditional test,
 * one-sided. It orders tables by Fisher's p and takes the worst case over the unknown pass rate.
 */
export function caseP(baseline: Count, candidate: Count): number {
  const { trials: nB } = baseline;
  const { trials: nC } = candidate;
  if (nB * nC > TABLE_CELLS_MAX) return fisherMidP(baseline, candidate);
  return tableFor(nB, nC)[baseline.passes * (nC + 1) + candidate.passes] as number;
}

/** Above this size, Fisher's mid-p is as good and much cheaper. */
const TABLE_CELLS_MAX = 2_500;

function fisherMidP(baseline: Count, candidate: Count): number {
  const total = baseline.trials + candidate.trials;
  const chances = hypergeometric(total, baseline.passes + candidate.passes, candidate.trials);
  let below = 0;
  for (let k = 0; k < candidate.passes; k++) below += chances[k] as number;
  return Math.min(1, below + (chances[candidate.passes] as number) / 2);
}

const tables = new Map<number, Float64Array>();
let cellsKept = 0;

/** 32 MB, enough for every pair of up to 50 trials per side. Imported results can have a different pair for each case. */
const CELLS_KEPT_MAX = 4_000_000;

/** The p of every outcome, at index `baseline passes × (candidate trials + 1) + candidate passes`. */
function tableFor(nB: number, nC: number): Float64Array {
  const key = nB * (TABLE_CELLS_MAX + 1) + nC;
  const known = tables.get(key);
  if (known) return known;
  const made = makeTable(nB, nC);
  if (cellsKept + made.length > CELLS_KEPT_MAX) {
    tables.clear();
    cellsKept = 0;
  }
  cellsKept += made.length;
  tables.set(key, made);
  return made;
}

function makeTable(nB: number, nC: number): Float64Array {
  const fisher = fisherTable(nB, nC);
  const order = Array.from(fisher.keys()).sort((a, b) => (fisher[a] as number) - (fisher[b] as number));
  const worst = new Float64Array(fisher.length);
  for (const rate of ratesFor(nB + nC)) {
    const baseline = binomial(nB, rate);
    const candidate = binomial(nC, rate);
    let sum = 0;
    for (let at = 0; at < order.length; ) {
      // Outcomes with the same Fisher p are equally extreme.
      const end = endOfTies(order, fisher, at);
      for (let index = at; index < end; index++) {
        const cell = order[index] as number;
        sum += (baseline[Math.floor(cell / (nC + 1))] as number) * (candidate[cell % (nC + 1)] as number);
      }
      for (; at < end; at++) {
        const cell = order[at] as number;
        worst[cell] = Math.max(worst[cell] as number, sum);
      }
    }
  }
  return worst.map(p => Math.min(1, p));
}

/** Pass rates in steps of 1/200. Large samples also need rates closer to 0 and 1. */
function ratesFor(trials: number): readonly number[] {
  const rates = Array.from({ length: RATES - 1 }, (_, index) => (index + 1) / RATES);
  for (let step = 1; step * RATES < trials; step++) rates.push(step / trials, 1 - step / trials);
  return rates;
}

const RATES = 200;

function endOfTies(order: readonly number[], fisher: Float64Array, from: number): number {
  const limit = (fisher[order[from] as number] as number) * (1 + TIE);
  let end = from + 1;
  while (end < order.length && (fisher[order[end] as number] as number) <= limit) end++;
  return end;
}

/** Tolerance for rounding errors between equal sums. */
const TIE = 1e-9;

/** Fisher's one-sided p of every outcome: P(at most this many candidate passes), given the total number of passes. */
function fisherTable(nB: number, nC: number): Float64Array {
  const table = new Float64Array((nB + 1) * (nC + 1));
  for (let passes = 0; passes <= nB + nC; passes++) {
    const chances = hypergeometric(nB + nC, passes, nC);
    let sum = 0;
    for (let candidate = 0; candidate <= nC; candidate++) {
      sum += chances[candidate] as number;
      const baseline = passes - candidate;
      if (baseline >= 0 && baseline <= nB) table[baseline * (nC + 1) + candidate] = sum;
    }
  }
  return table;
}

/** P(k passes) for k from 0 to n. `rate` is strictly between 0 and 1. */
function binomial(n: number, rate: number): Float64Array {
  const chances = new Float64Array(n + 1);
  const odds = rate / (1 - rate);
  // Relative to the mode, no term that matters underflows.
  const mode = Math.min(n, Math.floor((n + 1) * rate));
  chances[mode] = 1;
  let sum = 1;
  for (let k = mode; k < n; k++) sum += chances[k + 1] = (chances[k] as number) * ((n - k) / (k + 1)) * odds;
  for (let k = mode; k > 0; k--) sum += chances[k - 1] = ((chances[k] as number) * (k / (n - k + 1))) / odds;
  return chances.map(chance => chance / sum);
}

/** The Benjamini–Hochberg threshold at false discovery rate `q`: reject every p up to it. Returns -1 if none is rejected. */
export function rejectionLimit(ps: readonly number[], q: number): number {
  const sorted = Float64Array.from(ps).sort();
  for (let rank = sorted.length; rank > 0; rank--) {
    const p = sorted[rank - 1] as number;
    if (p <= (rank / sorted.length) * q) return p;
  }
  return -1;
}

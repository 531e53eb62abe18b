import type { PageMeasure, PageTrial } from './page-data.ts';

type Name = PageMeasure['name'];

/** Functions, because reading a property by a computed name is several times slower. */
const VALUES: readonly (readonly [Name, (trial: PageTrial) => number | null | undefined])[] = [
  ['latency_ms', trial => trial.latency_ms],
  ['ttft_ms', trial => trial.ttft_ms],
  ['cost_usd', trial => trial.cost_usd],
  ['tokens', trial => trial.tokens],
  ['input_tokens', trial => trial.input_tokens],
  ['output_tokens', trial => trial.output_tokens],
];

interface Sides {
  readonly baseline: readonly PageTrial[];
  readonly new: readonly PageTrial[];
}

/**
 * Medians, 95th percentiles and totals per side. Percentiles use the mean of each case, and in a comparison only cases
 * measured on both sides. Totals add up all trials. Null if nothing was measured.
 */
export function measuresOf(cases: readonly Sides[], kind: 'comparison' | 'run'): PageMeasure[] {
  return VALUES.map(([name, valueOf]) => {
    const baseline = new Measured();
    const candidate = new Measured();
    for (const one of cases) {
      const was = baseline.add(one.baseline, valueOf);
      const is = candidate.add(one.new, valueOf);
      if (is === null || (kind === 'comparison' && was === null)) continue;
      if (was !== null) baseline.values.push(was);
      candidate.values.push(is);
    }
    return { name, cases: candidate.values.length, baseline: baseline.sums(), new: candidate.sums() };
  });
}

class Measured {
  readonly values: number[] = [];
  #total = 0;
  #known = 0;
  #trials = 0;

  /** The mean over the trials of a case. */
  add(trials: readonly PageTrial[], valueOf: (typeof VALUES)[number][1]): number | null {
    let sum = 0;
    let known = 0;
    for (const trial of trials) {
      const value = valueOf(trial);
      if (value === null || value === undefined) continue;
      sum += value;
      known++;
    }
    this.#trials += trials.length;
    this.#total += sum;
    this.#known += known;
    return known === 0 ? null : sum / known;
  }

  sums(): PageMeasure['new'] {
    if (this.#known === 0) return null;
    const sorted = Float64Array.from(this.values).sort();
    const [median, p95] = [quantile(sorted, 0.5), quantile(sorted, 0.95)];
    return { median, p95, total: rounded(this.#total), known: this.#known, trials: this.#trials };
  }
}

function quantile(sorted: Float64Array, share: number): number | null {
  const at = share * (sorted.length - 1);
  const low = sorted[Math.floor(at)];
  const high = sorted[Math.ceil(at)];
  return low === undefined || high === undefined ? null : rounded(low + (high - low) * (at - Math.floor(at)));
}

/** Drops the digits that only come from adding fractions. */
function rounded(value: number): number {
  return Number(value.toPrecision(12));
}

import type { MetricComparison, Trial } from '../../contracts/comparison/index.ts';
import { meanInterval, meanOf, percentile } from './statistics.ts';

const METRICS = ['latency_ms', 'ttft_ms', 'cost_usd', 'score'] as const;

/** Collects time, cost and scores of cases on both sides, and compares them at the end. */
export class Metrics {
  readonly #values: readonly Values[] = METRICS.map(name => ({ name, baseline: [], candidate: [] }));

  /** Uses the mean over the trials of a case, so each case counts as one pair. */
  add(before: readonly Trial[], now: readonly Trial[]): void {
    for (const { name, baseline, candidate } of this.#values) {
      const was = meanOver(before, name);
      const is = meanOver(now, name);
      if (was === undefined || is === undefined) continue;
      baseline.push(was);
      candidate.push(is);
    }
  }

  /** Metrics with at least one case measured on both sides. */
  compared(): MetricComparison[] {
    return this.#values.filter(({ baseline }) => baseline.length > 0).map(compared);
  }
}

function compared({ name, baseline, candidate }: Values): MetricComparison {
  const pairs = baseline.length;
  const differences = Float64Array.from(candidate, (value, index) => value - (baseline[index] as number));
  return {
    name,
    pairs,
    baseline: distribution(baseline),
    new: distribution(candidate),
    difference: meanInterval(differences),
  };
}

interface Values {
  readonly name: (typeof METRICS)[number];
  readonly baseline: number[];
  readonly candidate: number[];
}

function meanOver(trials: readonly Trial[], name: (typeof METRICS)[number]): number | undefined {
  let sum = 0;
  let count = 0;
  for (const { [name]: value } of trials) {
    if (value === null || value === undefined) continue;
    sum += value;
    count++;
  }
  return count === 0 ? undefined : sum / count;
}

function distribution(values: readonly number[]): MetricComparison['new'] {
  const sorted = Float64Array.from(values).sort();
  return { mean: meanOf(sorted), p50: percentile(sorted, 0.5), p95: percentile(sorted, 0.95) };
}

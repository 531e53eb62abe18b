import { Fault } from '../base/fault.ts';
import { type CaseMeasure, decideMetric, type MetricDecision } from '../contracts/gate/decide/index.ts';
import type { Tolerances } from '../contracts/gate/index.ts';
import { METRIC_NAMES, type Metric } from './results/row.ts';

/** A tolerance of the gate, and what cases show of it. */
export interface MetricFinding extends MetricDecision {
  readonly metric: Metric;
  /** `ratio`: a share of the baseline. `difference`: in the unit of the metric. */
  readonly kind: 'ratio' | 'difference';
  readonly limit: number;
  /** Why it is not within its limit; null where it is. */
  readonly says: string | null;
}

/** Judges each tolerance case by case, so that neither chance nor one slow case decides. */
export function metricFindings(
  tolerances: Tolerances,
  measuresOf: (metric: Metric) => readonly CaseMeasure[],
  confidence: number | undefined,
): MetricFinding[] {
  const findings: MetricFinding[] = [];
  for (const metric of METRIC_NAMES) {
    for (const { kind, limit } of limitsOf(tolerances, metric)) {
      const found = decided(measuresOf(metric), { metric, kind, limit, confidence });
      findings.push({ metric, kind, limit, ...found, says: wordsFor(metric, kind, limit, found) });
    }
  }
  return findings;
}

type Limit = Pick<MetricFinding, 'kind' | 'limit'>;

function limitsOf(tolerances: Tolerances, metric: Metric): readonly Limit[] {
  if (metric === 'score') return tolerances.score ? [{ kind: 'difference', limit: tolerances.score.max_decrease }] : [];
  const { statistic, max_increase_ratio: ratio, max_increase: step } = tolerances[metric] ?? {};
  if (statistic !== undefined && statistic !== 'mean') {
    throw new Fault(
      'gate_invalid',
      `proctor gate compares ${metric} case by case, so its statistic in the gate file must be mean. Only proctor compare reads p50 and p95.`,
    );
  }
  return [
    ...(ratio === undefined ? [] : [{ kind: 'ratio' as const, limit: ratio }]),
    ...(step === undefined ? [] : [{ kind: 'difference' as const, limit: step }]),
  ];
}

function decided(
  measures: readonly CaseMeasure[],
  { metric, kind, limit, confidence }: Limit & { readonly metric: Metric; readonly confidence: number | undefined },
): MetricDecision {
  const options = { limit, ...(confidence !== undefined && { confidence }) };
  if (kind === 'ratio') return decideMetric(measures, { ...options, kind: 'ratio' });
  // Of a score less is worse; of a time or a cost more is, which is the same with the sides exchanged.
  const worseDown = metric === 'score' ? measures : measures.map(exchanged);
  return decideMetric(worseDown, { ...options, kind: 'score' });
}

function exchanged({ baseline, candidate }: CaseMeasure): CaseMeasure {
  return { baseline: candidate, candidate: baseline };
}

function wordsFor(metric: Metric, kind: Limit['kind'], limit: number, found: MetricDecision): string | null {
  const { verdict, cases, change, high } = found;
  if (verdict === 'no_regression') return null;
  const amount = (value: number): string =>
    kind === 'ratio' ? `${figure(100 * value)} %` : `${figure(value)}${UNITS[metric]}`;
  if (change === null || high === null) {
    const known = cases === 0 ? 'no case has it' : `only ${cases} ${cases === 1 ? 'case has' : 'cases have'} it`;
    return `The gate limits ${metric}, but ${known} on both sides, and 6 are needed.`;
  }
  const direction = metric === 'score' ? 'fell' : 'rose';
  if (verdict === 'regression')
    return `${metric} ${direction} by ${amount(change)} over ${cases} cases, and ${amount(limit)} is allowed.`;
  return `${metric} may have ${metric === 'score' ? 'fallen' : 'risen'} by up to ${amount(high)}, and ${amount(limit)} is allowed. More trials or more cases would settle it.`;
}

const UNITS: Readonly<Record<Metric, string>> = { latency_ms: ' ms', cost_usd: ' USD', score: '' };

/** Three digits that mean something. */
function figure(value: number): string {
  return String(Number(value.toPrecision(3)));
}

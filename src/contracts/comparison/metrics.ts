import {
  type CaseMeasure,
  decideMetric,
  type GateMode,
  METRIC_CASES_MIN,
  type MetricDecision,
  readSuite,
} from '../gate/decide/index.ts';
import type { Tolerances } from '../gate/shape.ts';
import type { TriedCases } from './counts.ts';
import type { Decision } from './shape.ts';

type MetricFinding = Decision['metrics'][number];

/** What the gate bounds of time, cost and score, and whether the trials keep it. */
export function decideMetrics(tolerances: Tolerances, cases: TriedCases, mode: GateMode): MetricFinding[] {
  return boundsIn(tolerances).map(({ metric, bounds, limit }) => {
    const measures = cases.map(one => measureOf(one, metric));
    const found = bounds === 'p95' ? decideTail(measures, limit) : decideMetric(measures, { kind: bounds, limit });
    const { cases: counted, change, low, high } = found;
    return { metric, bounds, limit, verdict: settled(found, mode), cases: counted, change, low, high };
  });
}

type Bound = Pick<MetricFinding, 'metric' | 'bounds' | 'limit'>;

function boundsIn(tolerances: Tolerances): Bound[] {
  const bounds: Bound[] = [];
  for (const metric of ['latency_ms', 'cost_usd'] as const) {
    const { statistic, max_increase_ratio: ratio, max_increase: step } = tolerances[metric] ?? {};
    if (ratio !== undefined) bounds.push({ metric, bounds: statistic === 'p95' ? 'p95' : 'ratio', limit: ratio });
    if (step !== undefined) bounds.push({ metric, bounds: 'difference', limit: step });
  }
  if (tolerances.score) bounds.push({ metric: 'score', bounds: 'score', limit: tolerances.score.max_decrease });
  return bounds;
}

/** Trials that were asked again were chosen by what the first ones showed, and do not count here. */
function measureOf({ baseline, new: candidate }: TriedCases[number], metric: MetricFinding['metric']): CaseMeasure {
  const valuesOf = ({ trials }: typeof baseline): number[] =>
    trials.filter(({ rerun }) => !rerun).flatMap(({ [metric]: value }) => value ?? []);
  return { baseline: valuesOf(baseline), candidate: valuesOf(candidate) };
}

/**
 * Whether more trials are slow, or dear, than before. A trial is if it takes more than the 95th percentile of the baseline and
 * what is allowed on top. A percentile itself has no exact test; a share of trials does.
 */
function decideTail(measures: readonly CaseMeasure[], ratio: number): MetricDecision {
  const known = measures.filter(({ baseline, candidate }) => baseline.length > 0 && candidate.length > 0);
  const cases = known.length;
  if (cases === 0) return { verdict: 'not_enough_evidence', cases, change: null, low: null, high: null };
  const sorted = Float64Array.from(known.flatMap(({ baseline }) => baseline)).sort();
  const limit = (1 + ratio) * (sorted[Math.ceil(0.95 * sorted.length) - 1] as number);
  const within = (values: readonly number[]) => ({
    passes: values.filter(value => value <= limit).length,
    trials: values.length,
  });
  const pairs = known.map(({ baseline, candidate }) => ({ baseline: within(baseline), candidate: within(candidate) }));
  const { drop, high, p } = readSuite(pairs, TAIL_LEVELS);
  const isWithin = high <= TAIL_LEVELS.margin;
  const isWorse = drop > 0 && p < TAIL_LEVELS.worse && !isWithin;
  const verdict = isWorse ? 'regression' : isWithin ? 'no_regression' : 'not_enough_evidence';
  return { verdict, cases, change: drop, low: null, high };
}

const TAIL_LEVELS = { margin: 0.05, worse: 0.025, unsafe: 0.05, looks: 1 } as const;

/** Outside of `proven`, what did not get worse at all is no reason to close the gate. */
function settled({ verdict, change }: MetricDecision, mode: GateMode): MetricDecision['verdict'] {
  const isBetter = verdict === 'not_enough_evidence' && change !== null && change <= 0;
  return isBetter && mode !== 'proven' ? 'no_regression' : verdict;
}

/** A finding in a sentence; undefined where the bound is kept. */
export function metricSentence(finding: Decision['metrics'][number]): string | undefined {
  const { metric, bounds, limit, verdict, cases, change, high } = finding;
  if (verdict === 'no_regression') return undefined;
  const name = NAMES[metric];
  if (change === null || high === null) {
    const known = cases === 0 ? 'no case tells it' : `only ${cases} ${cases === 1 ? 'case tells' : 'cases tell'} it`;
    return `The gate bounds ${name}, and ${known} on both sides, of at least ${METRIC_CASES_MIN}.`;
  }
  const amount = (value: number): string =>
    bounds === 'ratio' || bounds === 'p95' ? percent(value) : inUnit(value, metric);
  const [more, allowed] =
    bounds === 'p95'
      ? [`trials with ${name} above ${figure(1 + limit)} × the 95th percentile of the baseline`, TAIL_LEVELS.margin]
      : [name, limit];
  const direction = metric === 'score' ? 'lower' : bounds === 'p95' ? 'more frequent' : 'higher';
  const verb = bounds === 'p95' ? 'are' : 'is';
  const seen = `${capitalized(more)} ${verb} ${amount(change)} ${direction} than before`;
  if (verdict === 'regression') return `${seen}, and ${amount(allowed)} is allowed.`;
  return `${seen}, and ${amount(high)} cannot be ruled out; ${amount(allowed)} is allowed.`;
}

const NAMES = { latency_ms: 'latency', cost_usd: 'cost', score: 'the score' } as const;

function inUnit(value: number, metric: MetricFinding['metric']): string {
  if (metric === 'score') return figure(value);
  return metric === 'latency_ms' ? `${figure(value)} ms` : `$${figure(value)}`;
}

function percent(share: number): string {
  return `${figure(100 * share)} %`;
}

/** Three digits that mean something, as few as are needed. */
function figure(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

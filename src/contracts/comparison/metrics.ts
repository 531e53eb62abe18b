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
import { standingOf } from './trial.ts';

type MetricFinding = Decision['metrics'][number];

/**
 * Checks the gate's limits on time, cost and score. A limit is not met if more than `missingMaxRatio` of the cases lack the
 * metric.
 */
export function decideMetrics(
  tolerances: Tolerances,
  cases: TriedCases,
  mode: GateMode,
  missingMaxRatio = 0.05,
): MetricFinding[] {
  const paired = cases.filter(isPaired);
  return boundsIn(tolerances).map(bound => {
    const found = decideBound(bound, cases);
    const lacking = paired.filter(one => isLacking(one, bound.metric)).length;
    const unknown = lacking + (found.withoutRatio ?? 0);
    const isOpen = found.verdict !== 'regression' && unknown > missingMaxRatio * paired.length;
    return isOpen ? openFinding(bound, found, lacking) : findingOf(bound, found, settled(found, mode));
  });
}

function decideBound(bound: Bound, cases: TriedCases): MetricDecision {
  const { metric, bounds, limit } = bound;
  const measures = cases.map(one => measureOf(one, metric));
  if (bounds === 'p95' || bounds === 'p95_difference') return decideTail(measures, bound);
  if (bounds === 'p50') return decideMetric(measures, { kind: 'ratio', limit, statistic: 'median' });
  if (bounds === 'p50_difference') return decideMetric(measures, { kind: 'difference', limit, statistic: 'median' });
  return decideMetric(measures, { kind: bounds, limit });
}

function findingOf(bound: Bound, found: MetricDecision, verdict: MetricFinding['verdict']): MetricFinding {
  const { cases, change, low, high } = found;
  return { ...bound, verdict, cases, change, low, high };
}

/** The finding for a limit on a metric that too many cases lack. */
function openFinding(bound: Bound, found: MetricDecision, lacking: number): MetricFinding {
  const { cases, withoutRatio = 0 } = found;
  return {
    ...findingOf(bound, found, 'not_enough_evidence'),
    ...(lacking > 0 && cases + withoutRatio > 0 && { lacking }),
    ...(withoutRatio > 0 && { without_ratio: withoutRatio }),
  };
}

/** Whether both sides have a planned trial that counts. */
function isPaired({ baseline, new: candidate }: TriedCases[number]): boolean {
  return [baseline, candidate].every(({ trials }) =>
    trials.some(trial => !trial.rerun && standingOf(trial) !== 'missing'),
  );
}

/** An unanswered case needs no time or cost, and a case without expectations needs no score. */
function isLacking(one: TriedCases[number], metric: MetricFinding['metric']): boolean {
  const { baseline, candidate } = measureOf(one, metric);
  if (baseline.length > 0 || candidate.length > 0) return baseline.length === 0 || candidate.length === 0;
  const isAnswered = [one.baseline, one.new].some(({ trials }) => trials.some(({ verdict }) => verdict !== 'error'));
  return metric !== 'score' && isAnswered;
}

type Bound = Pick<MetricFinding, 'metric' | 'bounds' | 'limit'>;

function boundsIn(tolerances: Tolerances): Bound[] {
  const bounds: Bound[] = [];
  for (const metric of ['latency_ms', 'ttft_ms', 'cost_usd'] as const) {
    const { statistic = 'mean', max_increase_ratio: ratio, max_increase: step } = tolerances[metric] ?? {};
    const [ofRatio, ofStep] = BOUNDS[statistic];
    if (ratio !== undefined) bounds.push({ metric, bounds: ofRatio, limit: ratio });
    if (step !== undefined) bounds.push({ metric, bounds: ofStep, limit: step });
  }
  if (tolerances.score) bounds.push({ metric: 'score', bounds: 'score', limit: tolerances.score.max_decrease });
  return bounds;
}

/** The finding that a ratio limits, and the one that a step limits, by statistic. */
const BOUNDS = {
  mean: ['ratio', 'difference'],
  p50: ['p50', 'p50_difference'],
  p95: ['p95', 'p95_difference'],
} as const;

/** Excludes reruns, which were selected by earlier results. */
function measureOf({ baseline, new: candidate }: TriedCases[number], metric: MetricFinding['metric']): CaseMeasure {
  const valuesOf = ({ trials }: typeof baseline): number[] =>
    trials.filter(({ rerun }) => !rerun).flatMap(({ [metric]: value }) => value ?? []);
  return { baseline: valuesOf(baseline), candidate: valuesOf(candidate) };
}

/**
 * Whether the share of slow or expensive trials grew. A trial is slow or expensive if it exceeds the baseline's 95th
 * percentile plus the allowed increase. A percentile has no exact test; a share of trials does.
 */
function decideTail(measures: readonly CaseMeasure[], { bounds, limit: allowed }: Bound): MetricDecision {
  const known = measures.filter(({ baseline, candidate }) => baseline.length > 0 && candidate.length > 0);
  const cases = known.length;
  if (cases === 0) return { verdict: 'not_enough_evidence', cases, change: null, low: null, high: null };
  const sorted = Float64Array.from(known.flatMap(({ baseline }) => baseline)).sort();
  const tail = sorted[Math.ceil(0.95 * sorted.length) - 1] as number;
  const limit = bounds === 'p95' ? (1 + allowed) * tail : tail + allowed;
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

/** The allowed increase in the share of trials beyond the tail. */
export const TAIL_SHARE_MAX = 0.05;

const TAIL_LEVELS = { margin: TAIL_SHARE_MAX, worse: 0.025, unsafe: 0.05, looks: 1 } as const;

/** Except in `proven` mode, a metric that did not get worse passes. */
function settled({ verdict, change }: MetricDecision, mode: GateMode): MetricDecision['verdict'] {
  const isBetter = verdict === 'not_enough_evidence' && change !== null && change <= 0;
  return isBetter && mode !== 'proven' ? 'no_regression' : verdict;
}

/** A finding as a sentence; undefined if the limit is met. */
export function metricSentence(finding: MetricFinding): string | undefined {
  const { metric, bounds, limit, verdict, cases, change, high } = finding;
  if (verdict === 'no_regression') return undefined;
  const unknown = unknownSentence(finding);
  if (unknown !== undefined) return unknown;
  const isMedian = bounds === 'p50' || bounds === 'p50_difference';
  const name = isMedian ? `median ${NAMES[metric]}` : NAMES[metric];
  if (change === null || high === null) {
    const known = cases === 0 ? 'no case reports' : `only ${cases} ${cases === 1 ? 'case reports' : 'cases report'}`;
    return `The gate limits ${name}, but ${known} it on both sides; at least ${METRIC_CASES_MIN} are required.`;
  }
  const isTail = bounds === 'p95' || bounds === 'p95_difference';
  const amount = (value: number): string =>
    bounds === 'ratio' || bounds === 'p50' || isTail ? percent(value) : inUnit(value, metric);
  const beyond =
    bounds === 'p95'
      ? `${figure(1 + limit)} × the baseline’s 95th percentile`
      : `the baseline’s 95th percentile plus ${inUnit(limit, metric)}`;
  const [more, allowed] = isTail ? [`trials with ${name} above ${beyond}`, TAIL_LEVELS.margin] : [name, limit];
  const direction = metric === 'score' ? 'lower' : isTail ? 'more frequent' : 'higher';
  const seen = `${capitalized(more)} ${isTail ? 'are' : 'is'} ${amount(change)} ${direction} than before`;
  if (verdict === 'regression') return `${seen}; at most ${amount(allowed)} is allowed.`;
  return `${seen}, and up to ${amount(high)} cannot be ruled out; at most ${amount(allowed)} is allowed.`;
}

/** States how many cases lack the metric or its ratio; undefined if they are too few to matter. */
function unknownSentence({ metric, cases, lacking = 0, without_ratio = 0 }: MetricFinding): string | undefined {
  const total = cases + lacking + without_ratio;
  const share = (count: number): string => `${count} of ${total} ${total === 1 ? 'case' : 'cases'}`;
  const parts = [
    lacking > 0 && `${share(lacking)} ${lacking === 1 ? 'lacks' : 'lack'} it on at least one side`,
    without_ratio > 0 && `${share(without_ratio)} had a value of 0 in the baseline, so an increase has no ratio`,
  ].filter(part => part !== false);
  return parts.length === 0 ? undefined : `The gate limits ${NAMES[metric]}, but ${parts.join('; ')}.`;
}

const NAMES = {
  latency_ms: 'latency',
  ttft_ms: 'time to first token',
  cost_usd: 'cost',
  score: 'the score',
} as const;

function inUnit(value: number, metric: MetricFinding['metric']): string {
  if (metric === 'score') return figure(value);
  return metric === 'cost_usd' ? `$${figure(value)}` : `${figure(value)} ms`;
}

function percent(share: number): string {
  return `${figure(100 * share)} %`;
}

/** At most three significant digits. */
function figure(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor, NO_UNKNOWN_KEYS } from '../rule.ts';
import { LIMIT_ASKS, limitFindings } from './limits/index.ts';
import { type GateFile, gateShape, type Tolerances } from './shape.ts';

export { type GateFile, MISSING_MAX_RATIO, type Tolerances } from './shape.ts';

const rule = rulesFor<GateFile>();

const rules = [
  rule({
    id: 'GT1',
    title: 'Gate Version Known',
    why: 'A misspelled key limits nothing, so the gate would let everything pass.',
    asks: ['schema_version is "gate.v1"', NO_UNKNOWN_KEYS],
    fields: ['schema_version'],
    breach: gate => ({ ...gate, schema_version: 'gate.v9' }),
  }),
  rule({
    id: 'GT2',
    title: 'Gate Decides One Way',
    why: 'A verdict is meaningful only if its criteria are known.',
    asks: [
      'mode, if present, is balanced, proven or strict; default balanced',
      'margin, if present, is the allowed drop in the pass rate, between 0 and 1 (exclusive); default 0.05',
      'alpha, if present, is the false alarm rate for unchanged suites, between 0 and 1 (exclusive); default 0.05',
      'confidence, if present, is the confidence required for "at most the margin", between 0 and 1 (exclusive); default 0.95',
      'critical, if present, is a list of ids of cases that must not be missing and are tested separately',
      'again, if present, limits reruns: max_trials (1 to 100,000), max_minutes (above 0, up to 1,440) and max_cost_usd (0 or more)',
      'allow_removed, if present, is a boolean: whether cases may be removed from the suite; default false',
      'allow_weakened, if present, is a boolean: whether cases may expect less than in the baseline; default false',
      'missing_max_ratio, if present, is the share of cases that may be missing, from 0 to 1; default 0.05',
      'looks, if present, is how many times the suite may be evaluated before a decision, an integer from 1 to 5; default 1',
    ],
    fields: [
      'mode',
      'margin',
      'alpha',
      'confidence',
      'critical',
      'again',
      'allow_removed',
      'allow_weakened',
      'missing_max_ratio',
      'looks',
    ],
    breach: gate => ({ ...gate, missing_max_ratio: 5 }),
  }),
  rule({
    id: 'GT3',
    title: 'Tolerances Bound Something',
    why: 'A tolerance without a limit looks like protection but lets everything pass.',
    asks: [
      'tolerances, if present, may have latency_ms, ttft_ms (time to first token), cost_usd and score',
      'latency_ms, ttft_ms and cost_usd may have statistic: mean, p50 or p95',
      'latency_ms, ttft_ms and cost_usd have max_increase_ratio (0.2 is 20 % more), max_increase (in their unit), or both',
      'max_increase_ratio and max_increase are non-negative numbers',
      'score has max_decrease, a number from 0 to 1',
    ],
    fields: ['tolerances'],
    *check({ tolerances }) {
      yield* boundless(tolerances ?? {}, 'tolerances');
    },
    breach: gate => ({ ...gate, tolerances: { latency_ms: { statistic: 'p95' } } }),
  }),
  rule({
    id: 'GT4',
    title: 'Limits Bound Something',
    why: 'A limit applies to the candidate alone, so a suite that has always failed does not pass just because it is unchanged.',
    asks: [
      ...LIMIT_ASKS,
      'the gate fails if a limit is exceeded or nothing was measured for it, before it checks anything else',
    ],
    fields: ['limits', 'per_suite', 'per_tag', 'per_severity'],
    *check(gate) {
      yield* limitFindings(gate, '');
    },
    breach: gate => ({ ...gate, per_tag: { billing: {} } }),
  }),
];

/** Finds tolerances that set no limit. */
export function* boundless(tolerances: Tolerances, at: string) {
  for (const metric of ['latency_ms', 'ttft_ms', 'cost_usd'] as const) {
    const { max_increase, max_increase_ratio } = tolerances[metric] ?? { max_increase: 0 };
    if (max_increase === undefined && max_increase_ratio === undefined) {
      yield must(`${at}.${metric}`, 'must have max_increase_ratio or max_increase');
    }
  }
}

const example: GateFile = {
  schema_version: 'gate.v1',
  mode: 'balanced',
  margin: 0.05,
  tolerances: {
    latency_ms: { statistic: 'p95', max_increase_ratio: 0.2, max_increase: 500 },
    ttft_ms: { statistic: 'p95', max_increase_ratio: 0.2 },
    cost_usd: { statistic: 'mean', max_increase_ratio: 0.1 },
    score: { max_decrease: 0.02 },
  },
  missing_max_ratio: 0.05,
  limits: { min_pass_rate: 0.9, max_missing: 0 },
  per_tag: { billing: { max_failing: 0 } },
};

export const gate: Contract = {
  name: 'gate',
  title: 'Gate',
  tells:
    'What makes a comparison or a run fail: statistical criteria, tolerances for latency, cost and score, and limits on the candidate alone.',
  source: 'Proctor, compare and run suite',
  version: { field: 'schema_version', value: 'gate.v1' },
  shape: gateShape,
  rules,
  unknownKeys: 'GT1',
  bytesMax: MIB,
  example,
};

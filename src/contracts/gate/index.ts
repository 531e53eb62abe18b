import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor } from '../rule.ts';
import { LIMIT_ASKS, limitFindings } from './limits/index.ts';
import { type GateFile, gateShape, type Tolerances } from './shape.ts';

export { type GateFile, MISSING_MAX_RATIO, type Tolerances } from './shape.ts';

const rule = rulesFor<GateFile>();

const rules = [
  rule({
    id: 'GT1',
    title: 'Gate Version Known',
    why: 'A key with a slip in it would bound nothing, and the gate would stand open.',
    asks: ['schema_version is "gate.v1"', 'should (must, when strict): no key is unknown'],
    fields: ['schema_version'],
    breach: gate => ({ ...gate, schema_version: 'gate.v9' }),
  }),
  rule({
    id: 'GT2',
    title: 'Gate Decides One Way',
    why: 'Whoever reads a verdict must know what it took.',
    asks: [
      'mode, if present, is balanced, proven or strict; balanced if absent',
      'margin, if present, is the drop of the pass rate that is allowed, above 0 and below 1; 0.05 if absent',
      'alpha, if present, is the share of unchanged suites that may raise an alarm, above 0 and below 1; 0.05 if absent',
      'confidence, if present, is how sure "at most the margin" must be, above 0 and below 1; 0.95 if absent',
      'critical, if present, is a list of case ids that must not be missing and are judged by themselves',
      'again, if present, may have max_trials, from 1 to 100,000, max_minutes, above 0 and up to 1,440, and max_cost_usd, from 0 up',
      'allow_removed, if present, is true where cases may be removed from the suite; false if absent',
      'allow_weakened, if present, is true where cases may ask less than in the baseline; false if absent',
      'missing_max_ratio, if present, is a number from 0 to 1, the share of cases that may be missing; 0.05 if absent',
      'looks, if present, is how often the suite is looked at until it is decided, a whole number from 1 to 5; 1 if absent',
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
    why: 'A tolerance without a limit lets everything pass and looks as if it did not.',
    asks: [
      'tolerances, if present, may have latency_ms, cost_usd and score',
      'latency_ms and cost_usd have statistic: mean, p50 or p95',
      'latency_ms and cost_usd have max_increase_ratio (0.2 is a fifth more), max_increase (in their unit), or both',
      'max_increase_ratio and max_increase are numbers from 0 up',
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
    why: 'A limit holds for the new side alone, so a suite that has always failed does not pass for being unchanged.',
    asks: [
      ...LIMIT_ASKS,
      'a limit that is broken, or for which nothing was measured, closes the gate before anything else is asked',
    ],
    fields: ['limits', 'per_suite', 'per_tag', 'per_severity'],
    *check(gate) {
      yield* limitFindings(gate, '');
    },
    breach: gate => ({ ...gate, per_tag: { billing: {} } }),
  }),
];

/** Tolerances that allow any increase. */
export function* boundless(tolerances: Tolerances, at: string) {
  for (const metric of ['latency_ms', 'cost_usd'] as const) {
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
    'What makes a comparison or a run fail: how it is decided, how much slower, dearer or worse may still pass, and limits on the new side alone.',
  source: 'Proctor, compare and run suite',
  version: { field: 'schema_version', value: 'gate.v1' },
  shape: gateShape,
  rules,
  unknownKeys: 'GT1',
  bytesMax: MIB,
  example,
};

import * as z from 'zod/mini';
import { nameText } from '../agent-step/words.ts';
import { caseId, folderName } from '../artifacts/words.ts';
import { caseGroupKeys, limitCheck } from '../gate/limits/shape.ts';
import { gateKeys, tolerances } from '../gate/shape.ts';
import { between, contentHashText, count, filledText, instant, matching, record, wordyText } from '../shape.ts';
import { DECISION_CAUSES } from './causes.ts';
import { changedShape } from './changed.ts';
import { trialKeys } from './trial.ts';

const verdict = () => z.enum(['no_regression', 'regression', 'not_enough_evidence']);

const metricName = () => z.enum(['latency_ms', 'cost_usd', 'score', 'ttft_ms']);

const side = record({
  source: z.enum(['runs', 'accepted']),
  run_ids: z.array(folderName()),
  seals: z.array(contentHashText()),
  trials: count(),
  /** Whether the pack of an accepted baseline was available. */
  pack: z.optional(z.enum(['read', 'missing'])),
  environment_hash: z.nullable(contentHashText()),
  target_sha256: z.nullable(contentHashText()),
  cases_sha256: z.nullable(contentHashText()),
  /** The model replayed recorded answers. */
  replayed: z.optional(z.literal(true)),
});

const distribution = record({ mean: z.number(), p50: z.number(), p95: z.number() });

const metric = record({
  name: metricName(),
  pairs: count(),
  baseline: distribution,
  new: distribution,
  difference: record({ mean: z.number(), low: z.number(), high: z.number() }),
  /** How many pairs each resample drew; absent if it drew all of them. */
  resampled: z.optional(count()),
});

const trials = record({
  trials: z.array(
    record({
      run_id: folderName(),
      ...trialKeys,
      /** The case looked broken, so it ran again. */
      rerun: z.optional(z.literal(true)),
    }),
  ),
});

/** A location in a case artifact, or the case itself. */
const place = String.raw`(?:events\[\d{1,7}\]|proposed_actions\[\d{1,7}\]|proposed_actions|final_output|runner_failure|case)`;

const placeText = () => matching(new RegExp(`^${place}$`), 'a location in an artifact such as events[2]');

const cite = () =>
  matching(
    new RegExp(String.raw`^(?:(?:baseline|new):${place}|comparability\.fields\[\d{1,4}\])$`),
    'a location with its side such as new:events[2], or comparability.fields[0]',
  );

const divergence = record({
  kind: z.enum([
    'environment',
    'policy',
    'input',
    'tool_choice',
    'tool_arguments',
    'tool_result',
    'retrieval',
    'output',
    'runner',
    'tool_order',
    'tool_concurrency',
    'tool_duplicate',
    'tool_retry',
    'model',
    'checks',
  ]),
  baseline_at: z.nullable(placeText()),
  new_at: z.nullable(placeText()),
  says: wordyText(),
  confidence: z.enum(['high', 'medium', 'low']),
  cites: z.array(cite()),
});

const compared = record({
  case_id: caseId(),
  title: z.nullable(z.string()),
  ...caseGroupKeys,
  change: z.enum(['regressed', 'improved', 'same', 'flaky', 'missing']),
  side_missing: z.optional(z.enum(['baseline', 'new', 'both'])),
  /** Present if the case changed since the baseline. */
  changed: z.optional(changedShape),
  baseline: trials,
  new: trials,
  failing: z.array(record({ name: filledText(), message: z.nullable(z.string()), at: z.nullable(z.string()) })),
  divergence: z.nullable(divergence),
});

const passes = record({ passes: count(), trials: count() });

const finding = record({ case_id: caseId(), baseline: passes, new: passes, p: between(0, 1) });

const passRate = record({ rate: between(0, 1), low: between(0, 1), high: between(0, 1) });

/** Whether a limit on time, cost or score is met. Positive values of `change`, `low` and `high` are worse. */
const metricFinding = record({
  metric: metricName(),
  bounds: z.enum(['ratio', 'difference', 'p95', 'p95_difference', 'score', 'p50', 'p50_difference']),
  limit: z.number(),
  verdict: verdict(),
  cases: count(),
  change: z.nullable(z.number()),
  low: z.nullable(z.number()),
  high: z.nullable(z.number()),
  /** Cases that lack the metric on a side, and cases whose value grew from 0. Present only if there are too many. */
  lacking: z.optional(count()),
  without_ratio: z.optional(count()),
});

/** The result of the gate's tests. */
const decision = record({
  cause: z.enum(DECISION_CAUSES),
  /** Cases with trials on both sides. */
  cases: count(),
  drop: z.nullable(between(-1, 1)),
  high: z.nullable(between(-1, 1)),
  p: z.nullable(between(0, 1)),
  /** The drop that this many trials would detect with 80 % power. */
  detectable: z.nullable(between(0, 1)),
  rates: z.nullable(record({ baseline: passRate, new: passRate })),
  metrics: z.array(metricFinding),
  broken: z.array(finding),
  suspects: z.array(finding),
  removed: z.array(caseId()),
  weakened: z.array(caseId()),
});

/** How suspects were rerun before this verdict. */
const again = record({
  sides: z.enum(['both', 'new']),
  rounds: count(),
  /** Reruns, counting each side. */
  trials: count(),
  /** The total cost that the reruns reported; null if any reported none. */
  cost_usd: z.nullable(z.number().check(z.gte(0))),
  /** Why rerunning ended, such as no suspects left or the budget used up. */
  stopped: z.enum(['settled', 'trials', 'time', 'cost', 'cost_unknown', 'cancelled']),
  max_trials: count(),
  max_ms: count(),
  max_cost_usd: z.optional(z.number().check(z.gte(0))),
});

export const comparisonShape = record({
  schema_version: z.literal('comparison.v1'),
  comparison_id: nameText(),
  generated_at: instant(),
  verdict: verdict(),
  reason: wordyText(),
  exit_code: z.literal([0, 1, 3]),
  gate: record({
    /** `statistical` occurs only in older comparisons. */
    mode: z.enum(['strict', 'statistical', 'balanced', 'proven']),
    tolerances,
    ...gateKeys,
    breaches: z.array(record({ metric: metricName(), limit: z.number(), measured: z.number(), message: wordyText() })),
    /** The limits on the candidate alone, with the measured values. */
    checks: z.optional(z.array(limitCheck)),
  }),
  comparability: record({
    state: z.enum(['comparable', 'drift', 'not_comparable']),
    fields: z.array(record({ field: filledText(), baseline: z.nullable(z.string()), new: z.nullable(z.string()) })),
  }),
  sides: record({ baseline: side, new: side }),
  summary: record({
    cases: count(),
    regressed: count(),
    improved: count(),
    same: count(),
    flaky: count(),
    missing: count(),
    without_expectations: z.optional(count()),
  }),
  statistics: record({
    /** Only in older comparisons. */
    mcnemar: z.optional(record({ broke: count(), mended: count(), p_value: between(0, 1) })),
    metrics: z.array(metric),
    more_trials: z.nullable(count()),
  }),
  decision: z.optional(decision),
  again: z.optional(again),
  cases: z.array(compared),
});

export type Comparison = z.infer<typeof comparisonShape>;

export type ComparedCase = z.infer<typeof compared>;

export type Divergence = z.infer<typeof divergence>;

export type ComparedSide = z.infer<typeof side>;

export type MetricComparison = z.infer<typeof metric>;

export type Decision = z.infer<typeof decision>;

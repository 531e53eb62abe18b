import * as z from 'zod/mini';
import { caseId } from '../artifacts/words.ts';
import { between, record } from '../shape.ts';
import { limitKeys } from './limits/shape.ts';

const atLeastNothing = () => z.number().check(z.gte(0));

/** The allowed increase of a metric. */
const increase = record({
  statistic: z.optional(z.enum(['mean', 'p50', 'p95'])),
  max_increase_ratio: z.optional(atLeastNothing()),
  max_increase: z.optional(atLeastNothing()),
});

export const tolerances = record({
  latency_ms: z.optional(increase),
  ttft_ms: z.optional(increase),
  cost_usd: z.optional(increase),
  score: z.optional(record({ max_decrease: between(0, 1) })),
});

export const gateMode = () => z.enum(['strict', 'balanced', 'proven']);

/** A number between 0 and 1, exclusive. */
const share = () => z.number().check(z.gt(0), z.lt(1));

/** The settings that affect the verdict. */
export const gateKeys = {
  margin: z.optional(share()),
  alpha: z.optional(share()),
  confidence: z.optional(share()),
  critical: z.optional(z.array(caseId())),
  /** The budget for rerunning suspects. */
  again: z.optional(
    record({
      max_trials: z.optional(z.int().check(z.gte(1), z.lte(100_000))),
      max_minutes: z.optional(z.number().check(z.gt(0), z.lte(1_440))),
      max_cost_usd: z.optional(atLeastNothing()),
    }),
  ),
  allow_removed: z.optional(z.boolean()),
  allow_weakened: z.optional(z.boolean()),
  missing_max_ratio: z.optional(between(0, 1)),
  looks: z.optional(z.int().check(z.gte(1), z.lte(5))),
  ...limitKeys,
};

export const gateShape = record({
  schema_version: z.literal('gate.v1'),
  mode: z.optional(gateMode()),
  tolerances: z.optional(tolerances),
  ...gateKeys,
});

export type GateFile = z.infer<typeof gateShape>;

export type Tolerances = z.infer<typeof tolerances>;

/** The default share of cases that may be missing. */
export const MISSING_MAX_RATIO = 0.05;

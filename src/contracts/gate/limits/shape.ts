import * as z from 'zod/mini';
import { caseId, folderName, milliseconds } from '../../artifacts/words.ts';
import { between, contentHashText, count, record, wordyText } from '../../shape.ts';

const dollars = () => z.number().check(z.gte(0));

/** Limits on one side, independent of the other. */
const limits = record({
  min_pass_rate: z.optional(between(0, 1)),
  max_failing: z.optional(count()),
  max_flaky: z.optional(count()),
  max_unjudged: z.optional(count()),
  max_missing: z.optional(count()),
  max_cost_usd: z.optional(dollars()),
  max_latency_ms: z.optional(milliseconds()),
});

export type GateLimits = z.infer<typeof limits>;

export type GateLimitName = keyof GateLimits;

/** The limits in a gate file: for all cases, and for those of a suite, tag or severity. */
export const limitKeys = {
  limits: z.optional(limits),
  per_suite: z.optional(z.record(z.string(), limits)),
  per_tag: z.optional(z.record(z.string(), limits)),
  per_severity: z.optional(z.record(z.string(), limits)),
};

export const askedLimits = record(limitKeys);

export type AskedLimits = z.infer<typeof askedLimits>;

/** The keys by which limits group cases. */
export const caseGroupKeys = {
  suite: z.optional(z.string()),
  tags: z.optional(z.array(z.string())),
  severity: z.optional(z.string()),
};

const caseGroup = record({ case_id: caseId(), ...caseGroupKeys });

export type CaseGroup = z.infer<typeof caseGroup>;

/** Counts over the trials of a case. */
const tally = record({
  passed: count(),
  failed: count(),
  /** Answered, but without an expectation that could be judged. */
  unjudged: count(),
  /** Without an answer that counts for or against the agent. */
  missing: count(),
  /** Trials with a known latency, and the sum of the known latencies. */
  timed: count(),
  latency_ms: milliseconds(),
  /** Trials that timed out after an unknown time. Absent if there are none. */
  untimed: z.optional(count()),
  /** Trials with a known cost, answered trials without one, and the sum of the known costs. */
  priced: count(),
  unpriced: count(),
  cost_usd: dollars(),
});

export type Tally = z.infer<typeof tally>;

export const limitCheck = record({
  of: z.enum(['all', 'suite', 'tag', 'severity']),
  /** The suite, tag or severity; null for all cases. */
  name: z.nullable(z.string()),
  limit: z.keyof(limits),
  allowed: z.number(),
  /** Null if unknown; the limit is then not met. */
  measured: z.nullable(z.number()),
  is_met: z.boolean(),
  message: wordyText(),
});

export type LimitCheck = z.infer<typeof limitCheck>;

/** The limits of a run and their checks. The verifier recomputes the checks. */
export const judgedLimits = record({
  ...limitKeys,
  /** Present only with limits per suite, tag or severity. */
  groups: z.optional(z.array(caseGroup)),
  /** Earlier repetitions of the suite, if there are any. */
  earlier: z.optional(
    record({
      run_ids: z.array(folderName()),
      /** The hashes of the seals of these runs. */
      seals: z.array(contentHashText()),
      cases: z.array(record({ case_id: caseId(), tally })),
    }),
  ),
  checks: z.array(limitCheck),
});

export type JudgedLimits = z.infer<typeof judgedLimits>;

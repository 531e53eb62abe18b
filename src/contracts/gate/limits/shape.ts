import * as z from 'zod/mini';
import { caseId, folderName, milliseconds } from '../../artifacts/words.ts';
import { between, contentHashText, count, record, wordyText } from '../../shape.ts';

const dollars = () => z.number().check(z.gte(0));

/** Limits on one side alone, whatever the other side does. */
const limits = record({
  min_pass_rate: z.optional(between(0, 1)),
  max_failing: z.optional(count()),
  max_flaky: z.optional(count()),
  max_unjudged: z.optional(count()),
  max_missing: z.optional(count()),
  max_cost_usd: z.optional(dollars()),
  max_latency_ms: z.optional(milliseconds()),
});

export type Limits = z.infer<typeof limits>;

export type LimitName = keyof Limits;

/** The limits of a gate file: for all cases, and for the cases of a suite, a tag or a severity. */
export const limitKeys = {
  limits: z.optional(limits),
  per_suite: z.optional(z.record(z.string(), limits)),
  per_tag: z.optional(z.record(z.string(), limits)),
  per_severity: z.optional(z.record(z.string(), limits)),
};

export const askedLimits = record(limitKeys);

export type AskedLimits = z.infer<typeof askedLimits>;

/** What a case is grouped by. */
export const caseGroupKeys = {
  suite: z.optional(z.string()),
  tags: z.optional(z.array(z.string())),
  severity: z.optional(z.string()),
};

const caseGroup = record({ case_id: caseId(), ...caseGroupKeys });

export type CaseGroup = z.infer<typeof caseGroup>;

/** What the trials of a case came to. */
const tally = record({
  passed: count(),
  failed: count(),
  /** Answered, and nothing was expected of the answer, or nothing could be judged. */
  unjudged: count(),
  /** Without an answer that says anything of the agent. */
  missing: count(),
  /** Trials whose latency is known, and the sum over them. */
  timed: count(),
  latency_ms: milliseconds(),
  /** Trials that timed out, and do not say after how long. Absent where there is none. */
  untimed: z.optional(count()),
  /** Trials whose cost is known, answered ones whose cost is not, and the sum over the known. */
  priced: count(),
  unpriced: count(),
  cost_usd: dollars(),
});

export type Tally = z.infer<typeof tally>;

/** A limit, what was measured, and whether the limit is met. */
export const limitCheck = record({
  of: z.enum(['all', 'suite', 'tag', 'severity']),
  /** The suite, tag or severity; null for all cases. */
  name: z.nullable(z.string()),
  limit: z.enum([
    'min_pass_rate',
    'max_failing',
    'max_flaky',
    'max_unjudged',
    'max_missing',
    'max_cost_usd',
    'max_latency_ms',
  ]),
  allowed: z.number(),
  /** Null where it is not known, and then the limit is not met. */
  measured: z.nullable(z.number()),
  is_met: z.boolean(),
  message: wordyText(),
});

export type LimitCheck = z.infer<typeof limitCheck>;

/** What a run was asked to keep to, and what was found. Judging writes it, and verifying computes it again. */
export const judgedLimits = record({
  ...limitKeys,
  /** Only where limits are per suite, tag or severity. */
  groups: z.optional(z.array(caseGroup)),
  /** The repetitions before this one, where the suite was repeated. */
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

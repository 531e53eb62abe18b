import * as z from 'zod/mini';
import { caseId, errorClass, failedAttempt, folderName, milliseconds, side } from '../artifacts/words.ts';
import { repairSums } from '../artifacts/repairs.ts';
import { seenProvenance } from '../provenance.ts';
import { between, contentHashText, count, instant, matching, record, semver } from '../shape.ts';
import { judgedLimits } from '../gate/limits/shape.ts';
import { EXPECTATIONS } from '../suite/index.ts';

const assertion = record({
  /** The judged expectation: a key of `expected`. */
  name: z.enum(EXPECTATIONS),
  status: z.enum(['pass', 'fail', 'not_judged']),
  message: z.nullable(z.string()),
  /** The relevant part of the case artifact. */
  at: z.nullable(
    matching(
      /^(?:final_output\.content|(?:events|proposed_actions)\[(?:0|[1-9]\d{0,8})\])$/,
      'final_output.content, or an event or action such as events[3]',
    ),
  ),
});

const amount = () => z.number().check(z.gte(0));

const metrics = record({
  /** Latency of the last attempt. */
  latency_ms: z.nullable(milliseconds()),
  /** Time to the first token of a streamed reply. Absent if unknown. */
  ttft_ms: z.optional(milliseconds()),
  attempts: count(),
  cost_usd: z.nullable(amount()),
  tokens: z.nullable(amount()),
  /** The parts of `tokens`. Absent if the agent does not report them. */
  input_tokens: z.optional(amount()),
  output_tokens: z.optional(amount()),
  /** Number of tool calls. */
  steps: count(),
  /** The share of judged assertions that hold. */
  score: z.nullable(between(0, 1)),
});

const judgedCase = record({
  case_id: caseId(),
  case_sha256: contentHashText(),
  verdict: z.enum(['pass', 'fail', 'error']),
  error_class: z.nullable(z.union([errorClass(), z.literal('missing')])),
  /** Only for a case without an answer. */
  failure: z.optional(failedAttempt()),
  assertions: z.array(assertion),
  metrics,
  output_hash: z.nullable(matching(/^[^]{0,200}$/u, 'a string of at most 200 characters')),
  /** The hash of output, events and actions without ids and times. Absent without an answer. */
  answer_hash: z.optional(contentHashText()),
  /** The repairs of the answer. Absent if there are none. */
  repairs: z.optional(repairSums),
});

const sums = {
  summary: record({ total: count(), passed: count(), failed: count(), errors: count(), unjudged: count() }),
  /** Only if the run has limits. In a repeated suite, only in the last repetition. */
  gate: z.optional(judgedLimits),
};

/** The totals of an evaluation, without its cases. */
export const evaluationSums = record(sums);

export const evaluationShape = record({
  schema_version: z.literal('evaluation.v1'),
  run_id: folderName(),
  version: side(),
  generated_at: instant(),
  judge_version: semver(),
  seal_sha256: contentHashText(),
  cases_sha256: contentHashText(),
  ...sums,
  cases: z.array(judgedCase),
  /** What the answers report about the agent. Absent if they report nothing. */
  provenance: z.optional(seenProvenance),
  /** The sum of the repairs of all cases. Absent if there are none. */
  repairs: z.optional(repairSums),
});

export type Evaluation = z.infer<typeof evaluationShape>;

export type JudgedCase = Evaluation['cases'][number];

export type Assertion = z.infer<typeof assertion>;

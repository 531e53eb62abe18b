import * as z from 'zod/mini';
import { TERMINATIONS, VIOLATION_CLASSES } from '../agent-step/words.ts';
import { checkName } from '../check-result/shape.ts';
import { anyObject, count, filledText, record } from '../shape.ts';
import { milliseconds } from '../artifacts/words.ts';

/** One string, or several that must all match. */
const texts = () => z.union([filledText(), z.array(filledText())]);

const atMost = () => z.number().check(z.gte(0));

/** The expectations of a case. All must hold. */
export const expectedShape = record({
  contains: z.optional(texts()),
  not_contains: z.optional(texts()),
  /** Like contains and not_contains, but ignore case and differences in white space. */
  must_include: z.optional(texts()),
  must_not_include: z.optional(texts()),
  equals: z.optional(z.union([z.string(), anyObject()])),
  regex: z.optional(texts()),
  not_regex: z.optional(texts()),
  json_schema: z.optional(anyObject()),
  json_path: z.optional(
    z.array(
      record({
        path: filledText(),
        exists: z.optional(z.boolean()),
        equals: z.optional(z.unknown()),
        regex: z.optional(filledText()),
      }),
    ),
  ),
  tool_required: z.optional(texts()),
  tool_sequence: z.optional(texts()),
  tool_forbidden: z.optional(texts()),
  action_required: z.optional(texts()),
  evidence_required_for_actions: z.optional(z.boolean()),
  retrieval_required: z.optional(record({ doc_ids: z.array(filledText()) })),
  max_latency_ms: z.optional(milliseconds()),
  max_cost_usd: z.optional(atMost()),
  max_steps: z.optional(count()),
  script: z.optional(record({ file: filledText(), timeout_ms: z.optional(milliseconds()) })),
  /** From other toolkits: stored and reported, but not evaluated. */
  semantic: z.optional(anyObject()),
  tool_telemetry: z.optional(anyObject()),
  planning_gate: z.optional(anyObject()),
  repl_policy: z.optional(anyObject()),
  assumption_state: z.optional(anyObject()),
  /** The following apply to the agent's run, not to its answer. */
  termination: z.optional(z.enum(TERMINATIONS)),
  no_violations: z.optional(z.boolean()),
  /** Allows violations of these classes only. By default, none are allowed. */
  allow_violations: z.optional(z.union([z.enum(VIOLATION_CLASSES), z.array(z.enum(VIOLATION_CLASSES))])),
  no_flags: z.optional(z.boolean()),
  /** Paths inside the agent's folder. `*` matches part of a name, `**` any number of folders. */
  changed_only: z.optional(texts()),
  not_changed: z.optional(texts()),
  max_diff_lines: z.optional(count()),
  /** For a streamed reply. New keys follow at the end, because published schemas list them in this order. */
  max_ttft_ms: z.optional(milliseconds()),
  /** The checks that must pass. Without check and tests, every check of the case must. */
  check: z.optional(z.union([checkName(), z.array(checkName())])),
  /** Counts over all checks of the case that leave a test report. */
  tests: z.optional(record({ passed_min: z.optional(count()), failed_max: z.optional(count()) })),
});

export type Expected = z.infer<typeof expectedShape>;

export const EXPECTATIONS = Object.keys(expectedShape.shape) as readonly (keyof Expected)[];

/** Expectations that apply only to agents. */
export const OF_AGENT_RUNS = [
  'termination',
  'no_violations',
  'allow_violations',
  'no_flags',
  'changed_only',
  'not_changed',
  'max_diff_lines',
  'check',
  'tests',
] as const satisfies readonly (keyof Expected)[];

/** Expectations that Proctor stores but does not evaluate. */
export const NOT_JUDGED = ['semantic', 'tool_telemetry', 'planning_gate', 'repl_policy', 'assumption_state'] as const;

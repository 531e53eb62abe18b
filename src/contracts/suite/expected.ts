import * as z from 'zod/mini';
import { TERMINATIONS, VIOLATION_CLASSES } from '../agent-step/words.ts';
import { anyObject, count, filledText, record } from '../shape.ts';
import { milliseconds } from '../artifacts/words.ts';

/** One text, or several that must all hold. */
const texts = () => z.union([filledText(), z.array(filledText())]);

const atMost = () => z.number().check(z.gte(0));

/** What a case asks of the answer. Each key is one expectation; all must hold. */
export const expectedShape = record({
  contains: z.optional(texts()),
  not_contains: z.optional(texts()),
  /** As contains and not_contains, where upper and lower case, and the kind and amount of white space, do not matter. */
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
  /** Of other toolkits: read, kept, and said not to be judged. */
  semantic: z.optional(anyObject()),
  tool_telemetry: z.optional(anyObject()),
  planning_gate: z.optional(anyObject()),
  repl_policy: z.optional(anyObject()),
  assumption_state: z.optional(anyObject()),
  /** Asked of the run of an agent's program, and not of its answer. */
  termination: z.optional(z.enum(TERMINATIONS)),
  no_violations: z.optional(z.boolean()),
  /** Only violations of these classes, in the place of none at all. */
  allow_violations: z.optional(z.union([z.enum(VIOLATION_CLASSES), z.array(z.enum(VIOLATION_CLASSES))])),
  no_flags: z.optional(z.boolean()),
  /** Paths below the folder of the agent, in which * stands for a part of a name, and ** for any folders. */
  changed_only: z.optional(texts()),
  not_changed: z.optional(texts()),
  max_diff_lines: z.optional(count()),
});

export type Expected = z.infer<typeof expectedShape>;

/** The names of all expectations. */
export const EXPECTATIONS = Object.keys(expectedShape.shape) as readonly (keyof Expected)[];

/** Expectations that only the run of an agent's program can meet or break. */
export const OF_AGENT_RUNS = [
  'termination',
  'no_violations',
  'allow_violations',
  'no_flags',
  'changed_only',
  'not_changed',
  'max_diff_lines',
] as const satisfies readonly (keyof Expected)[];

/** Expectations that are kept for those who know them, and that Proctor does not judge. */
export const NOT_JUDGED = ['semantic', 'tool_telemetry', 'planning_gate', 'repl_policy', 'assumption_state'] as const;

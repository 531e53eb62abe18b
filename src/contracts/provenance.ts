import * as z from 'zod/mini';
import { matching, record } from './shape.ts';

/** What an agent was made of, as far as somebody said so. */
export const PROVENANCE = ['model', 'prompt_version', 'parameters', 'commit', 'image'] as const;

/** What an evaluator of agent artifacts looks for in run.json. */
export const RUN_PROVENANCE = [
  'agent_id',
  'agent_version',
  'model',
  'model_version',
  'prompt_version',
  'tools_version',
  'config_hash',
] as const;

/** Everything that whoever starts a run may say of its agent. */
export const STATED_PROVENANCE = [...new Set([...PROVENANCE, ...RUN_PROVENANCE])];

export type ProvenanceName = (typeof PROVENANCE)[number];

/** The length of a value, in bytes of UTF-8, and how many different ones a run keeps of each name. */
export const PROVENANCE_BYTES_MAX = 200;
export const PROVENANCE_VALUES_MAX = 5;

const value = () =>
  matching(/^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]{1,200}$/u, 'a text on one line of at most 200 characters');

const runKeys = {
  agent_id: z.optional(value()),
  agent_version: z.optional(value()),
  model: z.optional(value()),
  model_version: z.optional(value()),
  prompt_version: z.optional(value()),
  tools_version: z.optional(value()),
  config_hash: z.optional(value()),
};

/** What run.json tells of an agent. What is not known is absent. */
export const runProvenance = record(runKeys);

/** One value of each, as whoever starts a run names it. */
export const statedProvenance = record({
  ...runKeys,
  parameters: z.optional(value()),
  commit: z.optional(value()),
  image: z.optional(value()),
});

const values = () => z.array(value()).check(z.minLength(1), z.maxLength(PROVENANCE_VALUES_MAX));

/** All values of each that the answers of a run named. */
export const seenProvenance = record({
  model: z.optional(values()),
  prompt_version: z.optional(values()),
  parameters: z.optional(values()),
  commit: z.optional(values()),
  image: z.optional(values()),
});

export type RunProvenance = z.infer<typeof runProvenance>;

export type StatedProvenance = z.infer<typeof statedProvenance>;

export type SeenProvenance = z.infer<typeof seenProvenance>;

export const PROVENANCE_ASKS = listed(PROVENANCE);
export const RUN_PROVENANCE_ASKS = listed(RUN_PROVENANCE);
export const STATED_PROVENANCE_ASKS = listed(STATED_PROVENANCE);

function listed(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

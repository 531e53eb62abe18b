import * as z from 'zod/mini';
import { matching, record } from './shape.ts';

/** The provenance that an agent's answers may state. */
export const PROVENANCE = ['model', 'prompt_version', 'parameters', 'commit', 'image'] as const;

/** The provenance that evaluators expect in run.json. */
export const RUN_PROVENANCE = [
  'agent_id',
  'agent_version',
  'model',
  'model_version',
  'prompt_version',
  'tools_version',
  'config_hash',
] as const;

/** The provenance that the caller may state. */
export const STATED_PROVENANCE = [...new Set([...PROVENANCE, ...RUN_PROVENANCE])];

export type ProvenanceName = (typeof PROVENANCE)[number];

/** The maximum length of a value in UTF-8 bytes, and the maximum number of distinct values per name. */
export const PROVENANCE_BYTES_MAX = 200;
export const PROVENANCE_VALUES_MAX = 5;

const value = () =>
  matching(/^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]{1,200}$/u, 'one line of at most 200 characters');

const runKeys = {
  agent_id: z.optional(value()),
  agent_version: z.optional(value()),
  model: z.optional(value()),
  model_version: z.optional(value()),
  prompt_version: z.optional(value()),
  tools_version: z.optional(value()),
  config_hash: z.optional(value()),
};

/** The provenance in run.json. Unknown values are absent. */
export const runProvenance = record(runKeys);

/** The provenance that the caller stated. */
export const statedProvenance = record({
  ...runKeys,
  parameters: z.optional(value()),
  commit: z.optional(value()),
  image: z.optional(value()),
});

const values = () => z.array(value()).check(z.minLength(1), z.maxLength(PROVENANCE_VALUES_MAX));

/** All values that the answers of a run stated. */
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

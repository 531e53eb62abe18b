import * as z from 'zod/mini';
import { matching, record } from './shape.ts';

/** What an agent was made of, as far as somebody said so. */
export const PROVENANCE = ['model', 'prompt_version', 'parameters', 'commit', 'image'] as const;

export type ProvenanceName = (typeof PROVENANCE)[number];

/** The length of a value, in bytes of UTF-8, and how many different ones a run keeps of each name. */
export const PROVENANCE_BYTES_MAX = 200;
export const PROVENANCE_VALUES_MAX = 5;

const value = () =>
  matching(/^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]{1,200}$/u, 'a text on one line of at most 200 characters');

/** One value of each, as whoever starts a run names it. */
export const statedProvenance = record({
  model: z.optional(value()),
  prompt_version: z.optional(value()),
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

export type StatedProvenance = z.infer<typeof statedProvenance>;

export type SeenProvenance = z.infer<typeof seenProvenance>;

export const PROVENANCE_ASKS = `${PROVENANCE.slice(0, -1).join(', ')} and ${PROVENANCE.at(-1)}`;

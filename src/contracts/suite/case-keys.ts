import * as z from 'zod/mini';
import { caseId } from '../artifacts/words.ts';
import { anyObject, record } from '../shape.ts';
import { codingKeys } from './coding-keys.ts';
import { expectedShape } from './expected.ts';

/** The keys of a case, both in the user's file and in the run folder. */
export const caseKeys = {
  id: caseId(),
  title: z.optional(z.string()),
  suite: z.optional(z.string()),
  input: record({ user: z.string(), context: z.optional(z.unknown()) }),
  expected: z.optional(expectedShape),
  metadata: z.optional(anyObject()),
  ...codingKeys,
};

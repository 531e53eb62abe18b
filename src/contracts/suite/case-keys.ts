import * as z from 'zod/mini';
import { caseId } from '../artifacts/words.ts';
import { anyObject, record } from '../shape.ts';
import { expectedShape } from './expected.ts';

/** What a case consists of, in the file that people write and in the one that a run keeps. */
export const caseKeys = {
  id: caseId(),
  title: z.optional(z.string()),
  suite: z.optional(z.string()),
  input: record({ user: z.string(), context: z.optional(z.unknown()) }),
  expected: z.optional(expectedShape),
  metadata: z.optional(anyObject()),
};

import * as z from 'zod/mini';
import { codeWord, count, filledText, record } from '../shape.ts';

/** What Proctor masked in the stored data of a run, and which files contain secrets. */
export const maskingShape = record({
  /** Whether well-known credentials were masked or, at the caller's request, kept. Declared secrets are always masked. */
  credentials: z.enum(['masked', 'kept']),
  /** The number of masked ranges by kind. */
  kinds: z.record(codeWord(), count()),
  /** Files that were stored unmasked, and why each needs review. */
  flagged: z
    .array(
      record({
        path: filledText(),
        code: z.enum(['secret_in_file', 'credential_in_file', 'credential_file_name']),
        kinds: z.array(codeWord()).check(z.maxLength(100)),
      }),
    )
    .check(z.maxLength(1_000)),
});

export type MaskingNote = z.infer<typeof maskingShape>;

export const MASKING_ASKS = [
  'masking, if present, has credentials (masked or kept), kinds (counts by kind) and flagged',
  'each entry of flagged has path, code and kinds; code is secret_in_file, credential_in_file or credential_file_name',
] as const;

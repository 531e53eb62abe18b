import * as z from 'zod/mini';
import { count, filledText, matching, record } from '../shape.ts';

const kind = () => matching(/^[a-z][a-z0-9_]{0,63}$/, 'a word of lower-case letters, digits and underscores');

/** What was masked in everything that is stored of a run, and which of its files hold secrets. */
export const maskingShape = record({
  /** Well-known credentials were masked, or kept because the caller wanted so. Declared secrets are always masked. */
  credentials: z.enum(['masked', 'kept']),
  /** How many ranges, by kind. */
  kinds: z.record(kind(), count()),
  /** Files that are stored as they are, with why each needs a look. */
  flagged: z
    .array(
      record({
        path: filledText(),
        code: z.enum(['secret_in_file', 'credential_in_file', 'credential_file_name']),
        kinds: z.array(kind()).check(z.maxLength(100)),
      }),
    )
    .check(z.maxLength(1_000)),
});

export type MaskingNote = z.infer<typeof maskingShape>;

/** What rules ask of it. */
export const MASKING_ASKS = [
  'masking, if present, has credentials, masked or kept, kinds, whole numbers by kind, and flagged',
  'each of flagged has path, code and kinds; code is secret_in_file, credential_in_file or credential_file_name',
] as const;

import * as z from 'zod/mini';
import { count, record } from '../../contracts/shape.ts';

/** A file of a run folder. */
const runFileShape = record({
  path: z.string(),
  /** Null for something that is not a regular file. */
  bytes: z.nullable(count()),
  /** As the seal lists it; null if it does not. */
  sha256: z.nullable(z.string()),
  role: z.enum(['document', 'case', 'asset', 'output', 'stream', 'transcript', 'seal', 'internal']),
  step: z.nullable(z.string()),
  is_sealed: z.boolean(),
  /**
   * Only a file that is `there` can be downloaded. `not_sealed` was added after the run was sealed, `no_file` is a link
   * or something else, and `withheld` and `being_checked` are states of the operator's scan.
   */
  state: z.enum([
    'there',
    'changed',
    'missing',
    'expired',
    'internal',
    'not_sealed',
    'no_file',
    'withheld',
    'being_checked',
  ]),
});

export type RunFile = z.infer<typeof runFileShape>;

export const runFilesShape = record({
  files: z.array(runFileShape),
  /** The number of files that match. */
  total: count(),
  /** The file after which the next page starts; null on the last page. */
  next: z.nullable(z.string()),
});

export type RunFilesPage = z.infer<typeof runFilesShape>;

const logStream = record({
  name: z.enum(['stdout', 'stderr']),
  /** The file in the run folder; null if the stream is not there. */
  path: z.nullable(z.string()),
  /** The beginning of the stored stream; null if it is not there. */
  text: z.nullable(z.string()),
  /** The size of the whole stored stream. */
  bytes: z.nullable(count()),
  is_cut: z.boolean(),
});

/** What the server keeps for its operators about one run. */
export const runLogShape = record({
  run_id: z.string(),
  correlation_id: z.nullable(z.string()),
  entries: z.array(record({ level: z.string(), code: z.string(), detail: z.string() })),
  entries_total: count(),
  streams: z.array(logStream),
  /** The logs or streams expired. */
  is_expired: z.boolean(),
});

export type RunLogView = z.infer<typeof runLogShape>;

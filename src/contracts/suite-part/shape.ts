import * as z from 'zod/mini';
import { folderName } from '../artifacts/words.ts';
import { filledText, record } from '../shape.ts';
import { SHARDS_MAX } from '../suite/index.ts';

export const suitePartShape = record({
  schema_version: z.literal('suite-part.v1'),
  /** The run that collected the part. */
  run_id: folderName(),
  /** The position of the part in evidence/parts.ndjson, from 1. */
  number: z.int().check(z.gte(1), z.lte(SHARDS_MAX)),
  /** The bytes of the part's evidence/seal.json. */
  seal: filledText(),
  /** Small documents of the part, byte for byte. */
  documents: z.array(record({ path: filledText(), text: z.string() })).check(z.maxLength(16)),
});

export type SuitePart = z.infer<typeof suitePartShape>;

/** The documents that say what the part was asked, and what it ran. */
export const PART_RUN = 'run.json';
export const PART_REQUEST = 'evidence/request.json';

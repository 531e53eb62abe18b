import * as z from 'zod/mini';
import { caseId, folderName, portablePath } from '../artifacts/words.ts';
import { AGAIN_MAX } from '../attempt-key.ts';
import { contentHashText, count, filledText, record } from '../shape.ts';

/** How two workers differ on one attempt. */
export const TWICE_KINDS = ['outcome', 'verdict', 'text'] as const;
export type TwiceKind = (typeof TWICE_KINDS)[number];

const positive = () => z.int().check(z.gte(1));

const signedKeys = {
  worker: filledText(),
  key_id: contentHashText(),
  /** SPKI in PEM, so that anyone can check that two keys signed. */
  public_key: filledText(),
  /** The hash of its line in assets/outcomes.ndjson. */
  outcome_sha256: contentHashText(),
  /** Null if the expectations could not be judged at once. */
  verdict: z.nullable(z.enum(['pass', 'fail'])),
};

/** One attempt that was chosen to be made twice. */
export const twiceCaseShape = record({
  case_id: caseId(),
  /** The attempt that ended the case; null if no worker signed it. */
  attempt: z.nullable(positive()),
  first: z.nullable(record(signedKeys)),
  second: z.nullable(
    record({
      ...signedKeys,
      again: positive().check(z.lte(AGAIN_MAX)),
      /** The file of its reply; null if the first has the same, or if it failed. */
      reply: z.nullable(portablePath()),
    }),
  ),
  /** Why it was not made twice; null if it was. */
  why: z.nullable(z.enum(['not_answered', 'no_other_worker', 'lost', 'refused'])),
  /** Null if it was not made twice. */
  differs: z.nullable(z.array(z.enum(TWICE_KINDS))),
});

export type TwiceCase = z.infer<typeof twiceCaseShape>;

export const madeTwiceShape = record({
  schema_version: z.literal('made-twice.v1'),
  run_id: folderName(),
  /** The share of the attempts to make twice, as the user asked. */
  share: z.number().check(z.gt(0), z.lte(1)),
  /** How many attempts were chosen, and how many of them two workers made. */
  chosen: count(),
  made: count(),
  /** How many of those that were made twice differ at all, and in each way. */
  differing: count(),
  differ: record({ outcome: count(), verdict: count(), text: count() }),
  /** In the order of the cases. */
  cases: z.array(twiceCaseShape),
});

export type MadeTwice = z.infer<typeof madeTwiceShape>;

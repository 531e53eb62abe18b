import * as z from 'zod/mini';
import { nameText } from '../agent-step/words.ts';
import { compare } from '../check.ts';
import { type SealedFile, STATEMENT_TYPE, subject, subjectOf } from '../seal/statement.ts';
import { contentHashText, instant, record } from '../shape.ts';

const PREDICATE_TYPE = 'urn:proctor:expiry:v1';

/** An in-toto statement about the files that were removed from a sealed run folder. */
export const expiryShape = record({
  _type: z.literal(STATEMENT_TYPE),
  subject: z.array(subject),
  predicateType: z.literal(PREDICATE_TYPE),
  predicate: record({
    schema_version: z.literal('expiry.v1'),
    run_id: nameText(),
    /** The hash of evidence/seal.json. */
    seal_sha256: contentHashText(),
    expired_at: instant(),
    signed: z.boolean(),
  }),
});

export type ExpiryStatement = z.infer<typeof expiryShape>;

export interface ExpiredPart {
  readonly runId: string;
  readonly sealSha256: string;
  readonly expiredAt: string;
  readonly files: readonly SealedFile[];
}

export function expiryStatement({ runId, sealSha256, expiredAt, files }: ExpiredPart): ExpiryStatement {
  return {
    _type: STATEMENT_TYPE,
    subject: [...files].sort((a, b) => compare(a.path, b.path)).map(subjectOf),
    predicateType: PREDICATE_TYPE,
    predicate: {
      schema_version: 'expiry.v1',
      run_id: runId,
      seal_sha256: sealSha256,
      expired_at: expiredAt,
      signed: false,
    },
  };
}

/** Whether a file may expire: outputs and logs, but never a document. */
export function mayExpire(name: string): boolean {
  return isExpirableOutput(name) || isExpirableLog(name);
}

export function isExpirableOutput(name: string): boolean {
  return name.startsWith('output/');
}

export function isExpirableLog(name: string): boolean {
  return name.startsWith('evidence/internal/') || /^evidence\/steps\/[^/]+\/std(?:out|err)\.txt$/.test(name);
}

import * as z from 'zod/mini';
import { caseId, errorClass, folderName, milliseconds } from '../artifacts/words.ts';
import { AGAIN_MAX } from '../attempt-key.ts';
import { type SealedFile, STATEMENT_TYPE, subject, subjectOf } from '../seal/statement.ts';
import { contentHashText, count, filledText, instant, record } from '../shape.ts';

const PREDICATE_TYPE = 'urn:proctor:attempt:v1';

/** An in-toto statement of a worker about one attempt: what it sent, what it received, and when. */
export const attemptStatementShape = record({
  _type: z.literal(STATEMENT_TYPE),
  /**
   * The bytes that it received, after masking: `reply` of an answer, or `body` of a failed attempt. For a script or an agent,
   * `run` is the pack of its run, which contains the answer.
   */
  subject: z.array(subject),
  predicateType: z.literal(PREDICATE_TYPE),
  predicate: record({
    schema_version: z.literal('attempt-outcome.v1'),
    /** The idempotency key: run, case and attempt, and `again` if present. */
    key: filledText(),
    run_id: folderName(),
    case_id: caseId(),
    attempt: z.int().check(z.gte(1)),
    /** Another worker made this attempt before. Absent for the first. */
    again: z.optional(z.int().check(z.gte(1), z.lte(AGAIN_MAX))),
    /** The content hashes of what was sent: the target in evidence/request.json, and the case in assets/cases.ndjson. */
    target_sha256: contentHashText(),
    case_sha256: contentHashText(),
    worker: record({ name: filledText(), version: filledText(), environment_hash: contentHashText() }),
    started_at: instant(),
    ended_at: instant(),
    latency_ms: milliseconds(),
    outcome: z.enum(['ok', 'runner_error']),
    http_status: z.optional(z.int().check(z.gte(100), z.lte(999))),
    /** The sealed run of a script or an agent: its id, and the hash of its seal. */
    run: z.optional(record({ id: folderName(), seal_sha256: contentHashText() })),
    /** The number of masked ranges, by kind. */
    masked: z.optional(z.record(z.string(), count())),
    /** When each frame of a stream arrived. */
    frame_ms: z.optional(z.array(milliseconds())),
    failure: z.optional(
      record({
        class: errorClass(),
        message: z.string(),
        error_name: z.optional(z.string()),
        status_text: z.optional(z.string()),
        may_retry: z.boolean(),
        retry_after_ms: z.optional(milliseconds()),
        /** What is known about the body besides its bytes. */
        body: z.optional(
          record({
            bytes_total: z.nullable(count()),
            truncated: z.boolean(),
            content_type: z.nullable(z.string()),
            headers: z.record(z.string(), z.string()),
          }),
        ),
      }),
    ),
    signed: z.boolean(),
  }),
});

export type AttemptStatement = z.infer<typeof attemptStatementShape>;

export type AttemptPredicate = AttemptStatement['predicate'];

type NamedBytes = Pick<SealedFile, 'sha256' | 'bytes'>;

/** The statement about an attempt that received `received`, or nothing. `pack` is the pack of its run. */
export function attemptStatement(
  predicate: Omit<AttemptPredicate, 'schema_version' | 'signed'>,
  received?: NamedBytes,
  pack?: NamedBytes,
): AttemptStatement {
  const path = predicate.outcome === 'ok' ? 'reply' : 'body';
  return {
    _type: STATEMENT_TYPE,
    subject: [
      ...(received ? [subjectOf({ path, ...received })] : []),
      ...(pack ? [subjectOf({ path: 'run', ...pack })] : []),
    ],
    predicateType: PREDICATE_TYPE,
    predicate: { ...predicate, schema_version: 'attempt-outcome.v1', signed: false },
  };
}

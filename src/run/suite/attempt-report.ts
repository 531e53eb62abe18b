import { isUtf8 } from 'node:buffer';
import * as z from 'zod/mini';
import { instantText } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { bytesHash, contentHash } from '../../base/hash.ts';
import { type AttemptPredicate, attemptStatement } from '../../contracts/attempt-outcome/index.ts';
import type { AttemptQuestion } from '../../contracts/attempt-request/index.ts';
import { sealDocument, type Signer } from '../../contracts/seal/index.ts';
import { anyObject, filledText, record } from '../../contracts/shape.ts';
import { QUEUE_TEXT_BYTES_MAX } from '../../queue/queue.ts';
import type { BlobStore } from '../../store/store.ts';
import type { AttemptResult, FailedAttempt } from './target.ts';

/** What a worker sends back: the outcome that it signed, its public key, and the received bytes if they are small. */
export const attemptReportShape = record({
  schema_version: z.literal('attempt-report.v1'),
  /** An attempt-outcome.v1 document. */
  outcome: anyObject(),
  /** SPKI in PEM. */
  public_key: filledText(),
  /** Absent if the attempt received nothing, or if the store has it. */
  body: z.optional(record({ encoding: z.enum(['utf8', 'base64']), text: z.string() })),
});

/** The worker that reports. */
export interface Reporter {
  readonly name: string;
  readonly version: string;
  readonly environmentHash: string;
  readonly signer: Signer;
  readonly store?: BlobStore | undefined;
}

export interface MadeAttempt {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly result: AttemptResult;
}

/** What a worker was asked, as far as its outcome names it. */
export interface ReportedQuestion extends Pick<AttemptQuestion, 'key' | 'run_id' | 'attempt' | 'again'> {
  readonly target: object;
  readonly case: Readonly<Record<string, unknown>>;
}

/** Signs the outcome of an attempt. The text fits into a queue; larger bytes go to the store, and so does a run. */
export async function attemptReport(
  question: ReportedQuestion,
  made: MadeAttempt,
  reporter: Reporter,
): Promise<string> {
  const { packed } = made.result;
  if (packed) {
    if (!reporter.store) throw new Fault('internal', 'A worker without a store cannot send a run.');
    await reporter.store.put(packed.pack.sha256, packed.read(), packed.pack.bytes);
    // The pack contains the received bytes, so nothing else travels.
    return reportText(question, made, reporter, receivedBytes(made.result), false);
  }
  const bytes = receivedBytes(made.result);
  const inline = reportText(question, made, reporter, bytes, true);
  if (Buffer.byteLength(inline) <= QUEUE_TEXT_BYTES_MAX) return inline;
  const outlined = bytes && reporter.store ? reportText(question, made, reporter, bytes, false) : undefined;
  if (bytes && outlined !== undefined && Buffer.byteLength(outlined) <= QUEUE_TEXT_BYTES_MAX) {
    await reporter.store?.put(bytesHash(bytes), pieces(bytes), bytes.length);
    return outlined;
  }
  return failedReport(question, made, reporter, bytes && !reporter.store ? NO_STORE : TOO_MUCH);
}

/** Signs that an attempt failed after it was made, because its evidence cannot travel. */
export function failedReport(
  question: ReportedQuestion,
  made: MadeAttempt,
  reporter: Reporter,
  outcome: FailedAttempt,
): string {
  const { packed: _, ...result } = made.result;
  return reportText(question, { ...made, result: { ...result, outcome } }, reporter, undefined, true);
}

const NO_STORE: FailedAttempt = {
  ok: false,
  class: 'other',
  message: 'The reply is too large for the queue, and the worker has no store. Start it with --store.',
  errorName: 'NO_STORE',
  mayRetry: false,
};

const TOO_MUCH: FailedAttempt = {
  ok: false,
  class: 'other',
  message: 'The outcome is too large for the queue, even without the reply.',
  errorName: 'OUTCOME_TOO_LARGE',
  mayRetry: false,
};

function reportText(
  question: ReportedQuestion,
  made: MadeAttempt,
  { signer, ...worker }: Reporter,
  bytes: Buffer | undefined,
  isInline: boolean,
): string {
  const predicate = predicateOf(question, made, worker);
  const received = bytes && { sha256: bytesHash(bytes), bytes: bytes.length };
  const isText = bytes && isUtf8(bytes);
  const body = bytes && { encoding: isText ? 'utf8' : 'base64', text: bytes.toString(isText ? 'utf8' : 'base64') };
  return JSON.stringify({
    schema_version: 'attempt-report.v1',
    outcome: sealDocument(attemptStatement(predicate, received, made.result.packed?.pack), signer),
    public_key: signer.publicPem,
    ...(body && isInline && { body }),
  });
}

/** The bytes that prove the outcome: the stored reply, or the body of a failed attempt. */
function receivedBytes({ outcome, packed }: AttemptResult): Buffer | undefined {
  if (!outcome.ok) return outcome.body?.bytes;
  if (packed) return undefined;
  if (!outcome.kept) throw new Fault('internal', 'A target without stored replies cannot be asked through a queue.');
  return outcome.kept.body;
}

type Predicate = Omit<AttemptPredicate, 'schema_version' | 'signed'>;

function predicateOf(
  { key, run_id, attempt, again, target, case: one }: ReportedQuestion,
  { startedAtMs, endedAtMs, result }: MadeAttempt,
  { name, version, environmentHash }: Omit<Reporter, 'signer'>,
): Predicate {
  const { latencyMs, httpStatus, outcome, packed } = result;
  const { masked } = outcome;
  return {
    key,
    run_id,
    case_id: String(one['id']),
    attempt,
    ...(again !== undefined && { again }),
    target_sha256: contentHash(target),
    case_sha256: contentHash(one),
    worker: { name, version, environment_hash: environmentHash },
    started_at: instantText(startedAtMs),
    // A clock that was set back must not make the statement invalid.
    ended_at: instantText(Math.max(startedAtMs, endedAtMs)),
    latency_ms: latencyMs,
    outcome: outcome.ok ? 'ok' : 'runner_error',
    ...(httpStatus !== undefined && { http_status: httpStatus }),
    ...(packed && { run: { id: packed.id, seal_sha256: packed.sealSha256 } }),
    ...(masked && Object.keys(masked).length > 0 && { masked: { ...masked } }),
    ...(outcome.ok
      ? outcome.kept?.frameMs && { frame_ms: [...outcome.kept.frameMs] }
      : { failure: failureOf(outcome) }),
  };
}

function failureOf(failed: FailedAttempt): NonNullable<Predicate['failure']> {
  const { errorName, statusText, retryAfterMs, body } = failed;
  return {
    class: failed.class,
    message: failed.message,
    may_retry: failed.mayRetry,
    ...(errorName !== undefined && { error_name: errorName }),
    ...(statusText !== undefined && { status_text: statusText }),
    ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
    ...(body && {
      body: {
        bytes_total: body.bytesTotal,
        truncated: body.truncated,
        content_type: body.contentType,
        headers: { ...body.headers },
      },
    }),
  };
}

async function* pieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

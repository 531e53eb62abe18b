import type * as z from 'zod/mini';
import { keyIdOf, writtenKeyIn } from '../../base/ed25519.ts';
import { parseInstant } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { bytesHash, contentHash, type ContentHash } from '../../base/hash.ts';
import { readJson } from '../../base/json.ts';
import { type AttemptStatement, openAttempt } from '../../contracts/attempt-outcome/index.ts';
import { formOf } from '../../contracts/form.ts';
import { type SealEnvelope, signedBy } from '../../contracts/seal/index.ts';
import type { SuiteCase } from '../../contracts/suite/index.ts';
import { QUEUE_TEXT_BYTES_MAX } from '../../queue/queue.ts';
import { blobBytes } from '../../store/blob-bytes.ts';
import type { BlobStore } from '../../store/store.ts';
import type { KeptReply, ReplyReader } from '../../targets/reader.ts';
import type { SideName } from '../../targets/reply.ts';
import { attemptReportShape } from './attempt-report.ts';
import type { AttemptResult, FailedAttempt } from './target.ts';

/** What the conductor knows about the attempt that a report must describe. */
export interface AskedAttempt {
  readonly key: string;
  readonly caseId: string;
  readonly one: SuiteCase;
  readonly targetSha256: string;
  readonly caseSha256: string;
  /** Why an outcome about other hashes is refused. */
  readonly otherwise?: string;
}

/** The run of a script or an agent on a worker, as its signed outcome names it. */
export interface SentRun {
  readonly id: string;
  readonly sealSha256: string;
  readonly pack: { readonly sha256: ContentHash; readonly bytes: number };
  /** The key that signed the outcome, and must have signed the run. */
  readonly publicKey: string;
}

/**
 * Fetches a run, verifies it, and reads its answer again. `faultOf` compares the answer with what the worker signed. Returns
 * the reason if the run cannot be trusted, and then keeps nothing of it.
 */
export type TakeRun = (
  sent: SentRun,
  asked: AskedAttempt,
  faultOf: (taken: TakenRun) => string | undefined,
) => Promise<TakenRun | string>;

export type TakenRun = Pick<AttemptResult, 'agentRun' | 'httpStatus' | 'outcome'>;

export interface ReportReader {
  readonly side: SideName;
  /** Reads the reply again, so that the answer follows from the stored bytes, not from a claim of the worker. */
  readonly read: ReplyReader;
  /** For a script or an agent: takes its run over. Absent if the reply itself travels. */
  readonly takeRun?: TakeRun | undefined;
  readonly bodyBytesMax: number;
  readonly store?: BlobStore | undefined;
  /** The ids of the keys that may sign; undefined if every worker of the queue is trusted. */
  readonly trusted?: ReadonlySet<string> | undefined;
}

/** Reads the report of a worker. Returns the reason if the report cannot be trusted. */
export async function reportedAttempt(
  text: string,
  asked: AskedAttempt,
  reader: ReportReader,
): Promise<AttemptResult | string> {
  const opened = openReport(text, asked, reader.trusted);
  if (typeof opened === 'string') return opened;
  const { statement, report, signer } = opened;
  const { predicate } = statement;
  const answer = reader.takeRun
    ? await answerOfRun(reader.takeRun, report, statement, asked)
    : await answerOfReply(report, statement, asked, reader);
  if (typeof answer === 'string') return answer;
  return {
    latencyMs: predicate.latency_ms,
    ...(predicate.http_status !== undefined && { httpStatus: predicate.http_status }),
    ...(predicate.run && { runId: predicate.run.id }),
    worker: predicate.worker.name,
    startedAtMs: parseInstant(predicate.started_at) ?? 0,
    signedOutcome: JSON.stringify(report.outcome),
    signer: { keyId: signer, publicPem: report.public_key },
    ...answer,
  };
}

async function answerOfReply(
  report: AttemptReport,
  statement: AttemptStatement,
  asked: AskedAttempt,
  reader: ReportReader,
): Promise<TakenRun | string> {
  const { predicate } = statement;
  if (predicate.run) return 'it names a run, but the target is not a program';
  const bytes = await receivedBytes(report, statement, reader);
  if (typeof bytes === 'string') return bytes;
  const outcome = predicate.failure
    ? failedAttempt(predicate.failure, predicate.masked, bytes)
    : answeredAttempt(predicate, bytes ?? Buffer.alloc(0), asked, reader);
  return typeof outcome === 'string' ? outcome : { outcome };
}

/** The answer that the files of the run give. The worker must have signed the same one. */
async function answerOfRun(
  takeRun: TakeRun,
  report: AttemptReport,
  { subject, predicate }: AttemptStatement,
  asked: AskedAttempt,
): Promise<TakenRun | string> {
  const { run, failure } = predicate;
  if (report.body) return 'it has bytes beside its run';
  if (!run) {
    // For example, the worker was shut down. Such a failure says nothing about the program.
    if (!failure || failure.class !== 'other' || failure.body) return 'it has no run';
    return { outcome: failedAttempt(failure, predicate.masked, undefined) };
  }
  const pack = subject.find(({ name }) => name === 'run');
  if (!pack) return 'it has no run';
  return takeRun(
    {
      id: run.id,
      sealSha256: run.seal_sha256,
      pack: { sha256: `sha256:${pack.digest.sha256}`, bytes: pack.annotations.size_bytes },
      publicKey: report.public_key,
    },
    asked,
    taken => (isAsSigned(taken, subject, predicate) ? undefined : 'its answer differs from the files of its run'),
  );
}

/** Compares an answer with what the worker signed, because the verifier compares both again. */
function isAsSigned(
  { outcome, httpStatus }: TakenRun,
  subject: AttemptStatement['subject'],
  { failure, masked = {}, http_status }: AttemptStatement['predicate'],
): boolean {
  if (httpStatus !== http_status) return false;
  if (contentHash({ ...outcome.masked }) !== contentHash({ ...masked })) return false;
  if (outcome.ok || !failure) return outcome.ok && !failure;
  const signedBody = subject.find(({ name }) => name === 'body');
  return (
    outcome.class === failure.class &&
    outcome.message === failure.message &&
    outcome.mayRetry === failure.may_retry &&
    (outcome.body && bytesHash(outcome.body.bytes)) === (signedBody && `sha256:${signedBody.digest.sha256}`)
  );
}

type AttemptReport = z.infer<typeof attemptReportShape>;

function openReport(
  text: string,
  { key, targetSha256, caseSha256, otherwise = OTHER_CASE }: AskedAttempt,
  trusted: ReportReader['trusted'],
): { readonly report: AttemptReport; readonly statement: AttemptStatement; readonly signer: string } | string {
  const reading = readJson(Buffer.from(text), { bytesMax: QUEUE_TEXT_BYTES_MAX });
  if (!reading.ok || !formOf(attemptReportShape).fits(reading.value)) return 'it is not a report';
  const report = reading.value as AttemptReport;
  const opened = openAttempt(report.outcome);
  if (!opened) return 'its outcome breaks a rule of attempt-outcome.v1';
  const { statement, envelope } = opened;
  const signer = signerOf(report.public_key, envelope);
  if (signer === undefined) return 'its signature is not valid';
  if (trusted && !trusted.has(signer)) return 'it is signed with a key that is not trusted';
  const { predicate } = statement;
  if (predicate.key !== key) return 'it describes another attempt';
  if (predicate.target_sha256 !== targetSha256 || predicate.case_sha256 !== caseSha256) return otherwise;
  return { report, statement, signer };
}

const OTHER_CASE = 'the worker sent another case, or asked another target';

/** The id of the key that signed an envelope; undefined if the signature is not valid. */
function signerOf(publicKey: string, envelope: SealEnvelope): string | undefined {
  const key = writtenKeyIn(publicKey);
  if (!key) return undefined;
  return signedBy(key, envelope) === 'right' ? keyIdOf(key) : undefined;
}

async function receivedBytes(
  { body }: AttemptReport,
  { subject: [subject] }: AttemptStatement,
  { store, bodyBytesMax }: ReportReader,
): Promise<Buffer | string | undefined> {
  if (!subject) return body ? 'it has bytes that its outcome does not name' : undefined;
  const size = subject.annotations.size_bytes;
  // Masking may make a reply longer.
  if (size > 2 * bodyBytesMax + MASKED_BYTES_MAX) return 'its reply is larger than the limit';
  const sha256: ContentHash = `sha256:${subject.digest.sha256}`;
  const bytes = body ? Buffer.from(body.text, body.encoding) : await storedBytes(sha256, size, store);
  if (bytes === 'missing') return 'its reply is not in the store';
  if (bytes === 'too large' || bytes.length !== size || bytesHash(bytes) !== sha256)
    return 'its reply has another hash';
  return bytes;
}

const MASKED_BYTES_MAX = 64 * 1024;

async function storedBytes(
  sha256: ContentHash,
  size: number,
  store: BlobStore | undefined,
): ReturnType<typeof blobBytes> {
  try {
    return await blobBytes(store, sha256, size);
  } catch (error) {
    // A damaged blob stays damaged, so reading it again would not help.
    if (error instanceof Fault && error.code === 'blob_mismatch') return Buffer.alloc(0);
    throw error;
  }
}

function answeredAttempt(
  { frame_ms: frameMs, masked = {} }: AttemptStatement['predicate'],
  body: Buffer,
  { caseId }: AskedAttempt,
  { read, side }: ReportReader,
): AttemptResult['outcome'] | string {
  const kept: KeptReply = { body, ...(frameMs && { frameMs }) };
  const reading = read(kept, { caseId, side });
  return reading.ok ? { ...reading, masked, bytes: body.length, kept } : 'its reply cannot be read as an answer';
}

function failedAttempt(
  failure: NonNullable<AttemptStatement['predicate']['failure']>,
  masked: AttemptStatement['predicate']['masked'],
  bytes: Buffer | undefined,
): FailedAttempt {
  const { error_name: errorName, status_text: statusText, retry_after_ms: retryAfterMs, body } = failure;
  return {
    ok: false,
    class: failure.class,
    message: failure.message,
    mayRetry: failure.may_retry,
    ...(errorName !== undefined && { errorName }),
    ...(statusText !== undefined && { statusText }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(masked && { masked }),
    ...(body &&
      bytes && {
        body: {
          bytes,
          bytesTotal: body.bytes_total,
          truncated: body.truncated,
          contentType: body.content_type,
          headers: body.headers,
        },
      }),
  };
}

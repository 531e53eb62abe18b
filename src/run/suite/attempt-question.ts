import { Fault } from '../../base/fault.ts';
import { readJson } from '../../base/json.ts';
import { bytesHash, type ContentHash } from '../../base/hash.ts';
import { type AttemptQuestion, attemptRequest } from '../../contracts/attempt-request/index.ts';
import type { SuiteCase, SuiteRequest } from '../../contracts/suite/index.ts';
import { keepsContract } from '../../evidence/document.ts';
import type { SuitePlan } from '../../evidence/suite/suite-run.ts';
import { QUEUE_TEXT_BYTES_MAX } from '../../queue/queue.ts';
import type { BlobStore } from '../../store/store.ts';

/**
 * The versions of the document that workers of this release read. A release that adds one keeps the one before, so that
 * conductors can be updated after workers.
 */
const ATTEMPT_PROTOCOLS: readonly [number, ...number[]] = [1];
/** The version that conductors of this release write. */
export const ATTEMPT_PROTOCOL = Math.max(...ATTEMPT_PROTOCOLS);

/**
 * The number of the same version with `again`. A number of its own, so that workers of an earlier release make first
 * attempts, but never second ones.
 */
export function againProtocol(protocol: number): number {
  return 100 + protocol;
}

/** Everything that a worker of this release reads. */
export const WORKER_PROTOCOLS: readonly number[] = [...ATTEMPT_PROTOCOLS, ...ATTEMPT_PROTOCOLS.map(againProtocol)];

/** Writes the attempts of a run as documents for a worker. */
export class QuestionWriter {
  readonly #begin: string;

  constructor({ request, headers }: Pick<SuitePlan, 'request' | 'headers'>) {
    const shared: Omit<AttemptQuestion, 'key' | 'attempt' | 'case'> = {
      schema_version: 'attempt-request.v1',
      run_id: request.run_id,
      version: request.version,
      target: request.target,
      target_sha256: request.target_sha256,
      settings: request.settings,
      headers: headers.map(({ name, env }) => ({ name, env })),
      secret_names: request.secret_names,
      ...(request.keep_credentials && { keep_credentials: true as const }),
    };
    // All attempts share most of the text.
    this.#begin = JSON.stringify(shared).slice(0, -1);
  }

  /** `again` if another worker made the attempt before. */
  write(one: SuiteCase, attempt: number, key: string, again?: number): string {
    const own = JSON.stringify({ key, attempt, again, case: one });
    return `${this.#begin},${own.slice(1)}`;
  }
}

/** The text for the queue: the document itself, or its digest if only the store can hold it. */
export async function queuedText(text: string, store: BlobStore | undefined): Promise<string | undefined> {
  const bytes = Buffer.from(text);
  if (bytes.length <= QUEUE_TEXT_BYTES_MAX) return text;
  if (!store) return undefined;
  const digest = bytesHash(bytes);
  await store.put(digest, only(bytes), bytes.length);
  return digest;
}

async function* only(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Reads what a queue delivered. It may come from anyone who can write to the queue. */
export async function readQuestion(text: string, store: BlobStore | undefined): Promise<AttemptQuestion> {
  const bytes = DIGEST.test(text) ? await fromStore(text as ContentHash, store) : Buffer.from(text);
  const reading = readJson(bytes, { bytesMax: attemptRequest.bytesMax });
  if (!reading.ok || !keepsContract(reading.value, attemptRequest))
    throw new Fault('attempt_request', 'The attempt breaks a rule of attempt-request.v1.');
  return reading.value as AttemptQuestion;
}

const DIGEST = /^sha256:[0-9a-f]{64}$/;

async function fromStore(digest: ContentHash, store: BlobStore | undefined): Promise<Buffer> {
  const pieces = await store?.get(digest);
  if (!pieces)
    throw new Fault('no_blob', 'The attempt is in a store that this worker does not have. Start it with --store.');
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const piece of pieces) {
    length += piece.length;
    if (length > attemptRequest.bytesMax) throw new Fault('attempt_request', 'The attempt is too large.');
    chunks.push(piece);
  }
  return Buffer.concat(chunks);
}

/** What a worker must offer: the kind of the target, and the names of all secrets. */
export function attemptNeeds({ secret_names: names }: Pick<SuiteRequest, 'secret_names'>): string {
  return ['http', ...new Set(names)].sort(httpFirst).join('+');
}

/** Everything that a worker with these secrets can serve: every subset of the names. */
export function offeredNeeds(names: readonly string[]): string[] {
  if (names.length > SECRETS_MAX)
    throw new Fault('usage', `A worker can have at most ${SECRETS_MAX} secrets. Start a second worker for the others.`);
  const subsets: string[][] = [[]];
  for (const name of new Set(names)) subsets.push(...subsets.map(subset => [...subset, name]));
  return subsets.map(subset => attemptNeeds({ secret_names: subset }));
}

/** The number of subsets doubles with every name. */
const SECRETS_MAX = 5;

function httpFirst(a: string, b: string): number {
  if (a === 'http' || b === 'http') return a === 'http' ? -1 : 1;
  return a < b ? -1 : 1;
}

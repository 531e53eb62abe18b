import { answerPieces, answerText } from '../base/answer-body.ts';
import { Fault } from '../base/fault.ts';
import type { ContentHash } from '../base/hash.ts';
import type { OriginClient } from '../base/origin-client.ts';
import type { BlobStore } from './store.ts';
import { storedName, verified } from './verified.ts';

/** What proves to the server that this worker may use a blob. */
export interface BlobTickets {
  /** Most likely first. */
  ticketsToRead(digest: ContentHash): readonly string[];
  ticketsToWrite(): readonly string[];
}

/** The blobs of a server, as far as the claims of this worker open them. */
export class RemoteStore implements BlobStore {
  readonly #client: OriginClient;
  readonly #tickets: BlobTickets;

  constructor(client: OriginClient, tickets: BlobTickets) {
    this.#client = client;
    this.#tickets = tickets;
  }

  /** Reads all bytes before it sends any, because the server must not get bytes with another digest. */
  async put(digest: ContentHash, bytes: AsyncIterable<Uint8Array>, bytesMax: number): Promise<void> {
    const pieces: Uint8Array[] = [];
    for await (const piece of verified(digest, bytes, Math.min(bytesMax, REMOTE_BLOB_BYTES_MAX))) pieces.push(piece);
    const body = Buffer.concat(pieces);
    const response = await this.#sendWithAny('PUT', digest, this.#tickets.ticketsToWrite(), body);
    if (!response) throw claimLost();
    if (!response.ok) throw await refusalToStore(response);
    await textOf(response);
  }

  async get(digest: ContentHash): Promise<AsyncIterable<Uint8Array> | undefined> {
    storedName(digest);
    const response = await this.#sendWithAny('GET', digest, this.#tickets.ticketsToRead(digest));
    if (response?.ok) return verified(digest, answerPieces(response, { faultOf: unreachable }), REMOTE_BLOB_BYTES_MAX);
    if (response) await textOf(response);
    if (!response || response.status === 404) return undefined;
    throw refused(response.status);
  }

  async missing(): Promise<never> {
    throw new Fault('store_rights', 'A worker cannot list the blobs of a server.');
  }

  async sweep(): Promise<never> {
    throw new Fault('store_rights', 'A worker cannot remove the blobs of a server.');
  }

  /** The server refuses the ticket of a claim that was lost, so the next one gets a try. */
  async #sendWithAny(
    method: string,
    digest: ContentHash,
    tickets: readonly string[],
    body?: Buffer,
  ): Promise<Response | undefined> {
    let response: Response | undefined;
    for (const ticket of tickets) {
      if (response) await textOf(response);
      response = await this.#send(method, digest, ticket, body);
      if (response.status !== FORBIDDEN) break;
    }
    return response;
  }

  async #send(method: string, digest: ContentHash, ticket: string, body?: Buffer): Promise<Response> {
    const headers = { 'proctor-claim': ticket, ...(body && { 'content-type': 'application/octet-stream' }) };
    try {
      return await this.#client.send(method, `/v1/blobs/${storedName(digest)}`, {
        headers,
        timeoutMs: TRANSFER_MS,
        ...(body && { body: new Uint8Array(body) }),
      });
    } catch (cause) {
      throw unreachable(cause);
    }
  }
}

function claimLost(): Fault {
  return new Fault('claim_lost', 'The worker holds no attempt that lets it store a blob.');
}

/** Whether a server refuses the blobs of a worker because it no longer holds the attempt. */
export function isClaimLost(error: unknown): boolean {
  return error instanceof Fault && error.code === 'claim_lost';
}

async function refusalToStore(response: Response): Promise<Fault> {
  const code = codeIn(await textOf(response));
  if (code === 'not_your_claim') return claimLost();
  const why = REFUSALS.get(code);
  return why === undefined ? refused(response.status) : new Fault(code, why);
}

async function textOf(response: Response): Promise<string> {
  return (await answerText(response, REFUSAL_BYTES_MAX).catch(() => undefined)) ?? '';
}

function codeIn(text: string): string {
  try {
    const { error } = (JSON.parse(text) ?? {}) as { error?: { code?: unknown } };
    return String(error?.code);
  } catch {
    return '';
  }
}

/** What only the operator of the server can change, by the code of its refusal. */
const REFUSALS: ReadonlyMap<string, string> = new Map([
  ['no_store', 'The server has no store. Its operator can start it with --store.'],
  ['store_rights', 'The store of the server refuses access. Its operator must check its credentials and their rights.'],
  ['store_bucket', 'The store of the server has no such bucket. Its operator must create it.'],
  ['store_failed', 'The store of the server rejects requests. Its operator must check its address and region.'],
]);

function unreachable(cause: unknown): Fault {
  if (cause instanceof Fault) return cause;
  return new Fault('store_unavailable', 'The server of the queue cannot be reached.', { cause });
}

function refused(status: number): Fault {
  if (status === 429 || status >= 500)
    return new Fault('store_unavailable', `The server cannot use its store now (${status}). Try again later.`);
  return new Fault('store_rights', `The server refused a blob (${status}).`);
}

/** A blob is sent in one request from memory. */
export const REMOTE_BLOB_BYTES_MAX = 64 * 1024 * 1024;
const FORBIDDEN = 403;
const REFUSAL_BYTES_MAX = 64 * 1024;
const TRANSFER_MS = 300_000;

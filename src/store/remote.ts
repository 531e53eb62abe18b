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
  ticketToWrite(): string | undefined;
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
    const response = await this.#send('PUT', digest, this.#tickets.ticketToWrite(), Buffer.concat(pieces));
    await discard(response);
    if (!response.ok) throw refused(response.status);
  }

  async get(digest: ContentHash): Promise<AsyncIterable<Uint8Array> | undefined> {
    storedName(digest);
    let status = 404;
    for (const ticket of this.#tickets.ticketsToRead(digest)) {
      const response = await this.#send('GET', digest, ticket);
      if (response.ok) return verified(digest, answerPieces(response, { faultOf: unreachable }), REMOTE_BLOB_BYTES_MAX);
      await discard(response);
      ({ status } = response);
      if (status !== FORBIDDEN) break;
    }
    if (status === 404) return undefined;
    throw refused(status);
  }

  async missing(): Promise<never> {
    throw new Fault('store_rights', 'A worker cannot list the blobs of a server.');
  }

  async sweep(): Promise<never> {
    throw new Fault('store_rights', 'A worker cannot remove the blobs of a server.');
  }

  async #send(method: string, digest: ContentHash, ticket: string | undefined, body?: Buffer): Promise<Response> {
    if (ticket === undefined) throw new Fault('store_rights', 'Only a worker that makes an attempt can use the store.');
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

async function discard(response: Response): Promise<void> {
  await answerText(response, REFUSAL_BYTES_MAX).catch(() => undefined);
}

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

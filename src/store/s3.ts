import { AwsClient } from 'aws4fetch';
import { answerPieces, answerText } from '../base/answer-body.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { ContentHash } from '../base/hash.ts';
import type { S3Address, S3Credentials } from './s3-address.ts';
import type { BlobStore } from './store.ts';
import { storedDigest, storedName, verified } from './verified.ts';

/**
 * Blobs in a bucket of an S3-compatible service. It never relies on a conditional request, because some services ignore
 * the condition: the key is the digest, so writing twice writes the same.
 */
export class S3Store implements BlobStore {
  readonly #client: AwsClient;
  readonly #address: S3Address;
  readonly #clock: Clock;

  constructor(address: S3Address, credentials: S3Credentials, clock: Clock = systemClock) {
    // Callers repeat what failed, so there are no hidden retries.
    this.#client = new AwsClient({ ...credentials, service: 's3', region: address.region, retries: 0 });
    this.#address = address;
    this.#clock = clock;
  }

  /** Reads all bytes before it sends any: the service needs their length, and must not get bytes with another digest. */
  async put(digest: ContentHash, bytes: AsyncIterable<Uint8Array>, bytesMax: number): Promise<void> {
    const name = storedName(digest);
    const pieces: Uint8Array[] = [];
    for await (const piece of verified(digest, bytes, Math.min(bytesMax, S3_BLOB_BYTES_MAX))) pieces.push(piece);
    const headers = { 'content-type': 'application/octet-stream', 'x-amz-content-sha256': name };
    const response = await this.#send('PUT', this.#urlOf(name), TRANSFER_MS, { body: Buffer.concat(pieces), headers });
    await discard(response);
    if (!response.ok) throw refused(response.status);
  }

  async get(digest: ContentHash): Promise<AsyncIterable<Uint8Array> | undefined> {
    const response = await this.#send('GET', this.#urlOf(storedName(digest)), TRANSFER_MS);
    if (response.ok) return verified(digest, answerPieces(response, { faultOf: unreachable }));
    await discard(response);
    if (response.status === 404) return undefined;
    throw refused(response.status);
  }

  async missing(digests: readonly ContentHash[]): Promise<readonly ContentHash[]> {
    const names = digests.map(storedName);
    const absent: ContentHash[] = [];
    for (let at = 0; at < names.length; at += REQUESTS_MAX) {
      const group = names.slice(at, at + REQUESTS_MAX);
      const found = await Promise.all(group.map(name => this.#has(name)));
      absent.push(...digests.slice(at, at + REQUESTS_MAX).filter((_, index) => !found[index]));
    }
    return absent;
  }

  async sweep(ageMs: number, keep: ReadonlySet<ContentHash>): Promise<number> {
    const beforeMs = this.#clock.now() - ageMs;
    let removed = 0;
    let token: string | undefined = '';
    for (let pages = 0; token !== undefined; pages++) {
      const page: Page = await this.#list(token);
      if (page.next === token || pages >= LIST_PAGES_MAX)
        throw new Fault('store_failed', 'The list of blobs that S3 sent does not end.');
      for (const { name, changedMs } of page.blobs) {
        const digest = storedDigest(name);
        if (!digest || keep.has(digest) || changedMs >= beforeMs) continue;
        await this.#remove(name);
        removed += 1;
      }
      token = page.next;
    }
    return removed;
  }

  async #has(name: string): Promise<boolean> {
    const response = await this.#send('HEAD', this.#urlOf(name), REQUEST_MS);
    await discard(response);
    if (!response.ok && response.status !== 404) throw refused(response.status);
    return response.ok;
  }

  async #remove(name: string): Promise<void> {
    const response = await this.#send('DELETE', this.#urlOf(name), REQUEST_MS);
    await discard(response);
    if (!response.ok && response.status !== 404) throw refused(response.status);
  }

  async #list(token: string): Promise<Page> {
    const { endpoint, bucket, prefix } = this.#address;
    const url = new URL(`${endpoint}/${bucket}`);
    url.searchParams.set('list-type', '2');
    url.searchParams.set('prefix', prefix);
    if (token !== '') url.searchParams.set('continuation-token', token);
    const response = await this.#send('GET', url.href, REQUEST_MS);
    if (!response.ok) {
      await discard(response);
      throw refused(response.status);
    }
    return pageIn(await textOf(response), prefix);
  }

  /** Path-style: the bucket is part of the path, which every service understands. */
  #urlOf(name: string): string {
    const { endpoint, bucket, prefix } = this.#address;
    return `${endpoint}/${bucket}/${prefix}${name}`;
  }

  async #send(method: string, url: string, timeoutMs: number, more: RequestInit = {}): Promise<Response> {
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      return await this.#client.fetch(url, { method, signal, redirect: 'manual', ...more });
    } catch (cause) {
      throw unreachable(cause);
    }
  }
}

interface Page {
  readonly blobs: readonly { readonly name: string; readonly changedMs: number }[];
  readonly next: string | undefined;
}

/** Names that are not digests are not ours. A date that cannot be read counts as now, so nothing is removed by mistake. */
function pageIn(text: string, prefix: string): Page {
  const blobs = [...text.matchAll(/<Contents>(.*?)<\/Contents>/gs)].flatMap(([, content = '']) => {
    const key = textIn(content, 'Key');
    if (!key?.startsWith(prefix)) return [];
    const changedMs = Date.parse(textIn(content, 'LastModified') ?? '');
    return [
      { name: key.slice(prefix.length), changedMs: Number.isNaN(changedMs) ? Number.POSITIVE_INFINITY : changedMs },
    ];
  });
  const isCut = textIn(text, 'IsTruncated') === 'true';
  return { blobs, next: isCut ? textIn(text, 'NextContinuationToken') : undefined };
}

function textIn(text: string, tag: string): string | undefined {
  return new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(text)?.[1]?.replaceAll('&amp;', '&');
}

async function textOf(response: Response): Promise<string> {
  const text = await answerText(response, LIST_BYTES_MAX, { faultOf: unreachable });
  if (text === undefined) throw new Fault('store_failed', 'The list of blobs that S3 sent is too large.');
  return text;
}

async function discard({ body }: Response): Promise<void> {
  await body?.cancel().catch(() => undefined);
}

function unreachable(cause: unknown): Fault {
  if (cause instanceof Fault) return cause;
  return new Fault('store_unavailable', 'The S3 store does not answer. Check that its address can be reached.', {
    cause,
  });
}

function refused(status: number): Fault {
  if (status === 401 || status === 403) {
    return new Fault(
      'store_rights',
      `The S3 store refused access (${status}). Check the credentials and their rights.`,
    );
  }
  if (status === 404) return new Fault('store_bucket', 'The S3 store has no such bucket.');
  if (status === 429 || status >= 500) {
    return new Fault('store_unavailable', `The S3 store cannot answer now (${status}). Try again later.`);
  }
  return new Fault('store_failed', `The S3 store rejected a request (${status}). Check its address and region.`);
}

/** A blob is sent in one request from memory. */
const S3_BLOB_BYTES_MAX = 256 * 1024 * 1024;
/** A page has at most 1,000 names. */
const LIST_BYTES_MAX = 4 * 1024 * 1024;
const LIST_PAGES_MAX = 100_000;
const REQUESTS_MAX = 16;
const REQUEST_MS = 30_000;
const TRANSFER_MS = 600_000;

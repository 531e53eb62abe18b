import { createRequire } from 'node:module';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Dispatcher, Pool } from 'undici';
import { monotonicMs } from '../base/clock.ts';
import { codeOf } from '../base/fault.ts';

// The pool alone loads in a third of the time of all of undici.
const ConnectionPool = createRequire(import.meta.url)('undici/lib/dispatcher/pool.js') as typeof Pool;

export interface HttpRequest {
  readonly method?: Dispatcher.HttpMethod | undefined;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent for a request without a body. */
  readonly body?: string | undefined;
  /** From connecting to the last byte of the answer. */
  readonly deadlineMs: number;
  /** The longest time without any data. */
  readonly idleMs: number;
  readonly bodyBytesMax: number;
  /** How many redirects to the same origin to follow, with the same method and body. */
  readonly redirectsMax: number;
  /**
   * Receives the body as it arrives, with the time since the request. `enough` ends the answer as complete. A compressed
   * body is not passed on, because its bytes do not show what arrived when. A compressed stream is refused.
   */
  readonly onData?: ((chunk: Buffer, atMs: number) => 'enough' | void) | undefined;
  /** Aborts only this request. */
  readonly signal?: AbortSignal | undefined;
}

/** The result of one request. It includes everything that was received, up to the limit. */
export interface HttpAnswer {
  /** `complete` with any status; `too_large` if cut at the limit; `broken` for a network error. */
  readonly ended: 'complete' | 'timeout' | 'idle' | 'too_large' | 'broken' | 'cancelled';
  readonly latencyMs: number;
  readonly status?: number;
  readonly statusText?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The full length of the body, if known. */
  readonly bodyTotal: number | null;
  /** The error code from the system or from undici. */
  readonly errorName?: string;
}

/** Sends requests to one HTTP target. Keeps connections open and never repeats a request. */
export class HttpTarget {
  readonly #pool: Pool;
  readonly #origin: string;
  readonly #open = new Set<Listener>();
  #isCancelled = false;

  constructor(origin: string, connections: number) {
    this.#origin = origin;
    this.#pool = new ConnectionPool(origin, {
      connections,
      pipelining: 1,
      // No timeouts here, because each request has its own time limits, which include connecting.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: 0 },
      maxHeaderSize: HEADER_BYTES_MAX,
    });
  }

  async send(request: HttpRequest): Promise<HttpAnswer> {
    const startedMs = monotonicMs();
    let { path } = request;
    for (let redirects = 0; ; redirects++) {
      const answer = await this.#once(request, path, request.deadlineMs - (monotonicMs() - startedMs));
      const next = redirects < request.redirectsMax ? redirectOf(answer, this.#origin, path) : undefined;
      if (next === undefined) {
        const whole = redirects === 0 ? answer : { ...answer, latencyMs: monotonicMs() - startedMs };
        return isPlain(whole) ? whole : decoded(whole, request.bodyBytesMax);
      }
      path = next;
    }
  }

  /** Ends all current and later requests, because an attempt may be between two of its requests. */
  cancel(): void {
    this.#isCancelled = true;
    for (const listener of this.#open) listener.cancel();
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }

  #once(request: HttpRequest, path: string, deadlineMs: number): Promise<HttpAnswer> {
    const { method = 'POST', headers, body = null, signal } = request;
    return new Promise(resolve => {
      const cancel = (): void => listener.cancel();
      const listener: Listener = new Listener(request, deadlineMs, answer => {
        this.#open.delete(listener);
        signal?.removeEventListener('abort', cancel);
        resolve(answer);
      });
      this.#open.add(listener);
      signal?.addEventListener('abort', cancel);
      if (this.#isCancelled || signal?.aborted) listener.cancel();
      else this.#pool.dispatch({ path, method, headers, body, idempotent: false }, listener);
    });
  }
}

const HEADER_BYTES_MAX = 64 * 1024;

/** The content types of streams. */
const STREAM = /^(?:text\/event-stream|application\/(?:x-)?(?:ndjson|jsonl|jsonlines|json-seq|stream\+json))\b/i;

class Listener implements Dispatcher.DispatchHandler {
  readonly #bytesMax: number;
  readonly #resolve: (answer: HttpAnswer) => void;
  readonly #onData: HttpRequest['onData'];
  readonly #startedMs = monotonicMs();
  readonly #deadline: NodeJS.Timeout;
  readonly #idle: NodeJS.Timeout | undefined;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #length = 0;
  #status: number | undefined;
  #statusText: string | undefined;
  #headers: Record<string, string> = {};
  #isCompressed = false;
  #isOver = false;

  constructor(request: HttpRequest, deadlineMs: number, resolve: (answer: HttpAnswer) => void) {
    const { idleMs, bodyBytesMax, onData } = request;
    this.#bytesMax = bodyBytesMax;
    this.#onData = onData;
    this.#resolve = resolve;
    this.#deadline = setTimeout(() => this.#stop('timeout'), Math.max(0, deadlineMs));
    // An idle limit that is not shorter than the deadline has no effect.
    this.#idle = idleMs < deadlineMs ? setTimeout(() => this.#stop('idle'), idleMs) : undefined;
  }

  cancel(): void {
    this.#stop('cancelled');
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(new Error('over'));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
    statusText?: string,
  ): void {
    if (status < 200) return;
    this.#idle?.refresh();
    this.#status = status;
    this.#statusText = statusText;
    for (const name of Object.keys(headers)) {
      const value = headers[name];
      this.#headers[name] = typeof value === 'string' ? value : [value].flat().join(', ');
    }
    this.#isCompressed = encodingOf(this.#headers) !== 'identity';
    const isWatched = this.#onData !== undefined && status < 300;
    if (isWatched && this.#isCompressed && STREAM.test(this.#headers['content-type'] ?? ''))
      this.#stop('broken', 'COMPRESSED_STREAM');
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#idle?.refresh();
    const room = this.#bytesMax - this.#length;
    this.#chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
    this.#length += chunk.length;
    const told = this.#isCompressed ? undefined : this.#onData?.(chunk, monotonicMs() - this.#startedMs);
    if (chunk.length > room) this.#stop('too_large');
    else if (told === 'enough') this.#stop('complete');
  }

  onResponseEnd(): void {
    this.#finish('complete');
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#finish('broken', nameOf(error));
  }

  #stop(ended: HttpAnswer['ended'], errorName?: string): void {
    this.#finish(ended, errorName);
    this.#controller?.abort(new Error('over'));
  }

  #finish(ended: HttpAnswer['ended'], errorName?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#deadline);
    clearTimeout(this.#idle);
    const announced = Number(this.#headers['content-length'] ?? Number.NaN);
    const isWhole = ended === 'complete';
    this.#resolve({
      ended,
      latencyMs: monotonicMs() - this.#startedMs,
      headers: this.#headers,
      body: this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks),
      bodyTotal: isWhole ? this.#length : Number.isSafeInteger(announced) ? announced : null,
      ...(this.#status !== undefined && { status: this.#status }),
      ...(this.#statusText && { statusText: this.#statusText }),
      ...(errorName !== undefined && { errorName }),
    });
  }
}

function nameOf(error: Error): string {
  const { code } = (error.cause instanceof Error ? error.cause : error) as { code?: unknown };
  return typeof code === 'string' ? code : codeOf(error) || error.name;
}

/** The path of a redirect that keeps the origin and method. */
function redirectOf({ ended, status, headers }: HttpAnswer, origin: string, path: string): string | undefined {
  const { location } = headers;
  if (ended !== 'complete' || (status !== 307 && status !== 308) || location === undefined) return undefined;
  const base = new URL(path, origin);
  if (!URL.canParse(location, base.href)) return undefined;
  const target = new URL(location, base);
  return target.origin === base.origin ? target.pathname + target.search : undefined;
}

const DECODERS = { gzip: createGunzip, 'x-gzip': createGunzip, deflate: createInflate, br: createBrotliDecompress };

function isPlain({ headers, body }: HttpAnswer): boolean {
  return headers['content-encoding'] === undefined || body.length === 0;
}

function encodingOf(headers: HttpAnswer['headers']): string {
  return headers['content-encoding']?.trim().toLowerCase() || 'identity';
}

/** Decompresses an answer up to `bytesMax`, because a small body may expand to a large one. */
async function decoded(answer: HttpAnswer, bytesMax: number): Promise<HttpAnswer> {
  const encoding = encodingOf(answer.headers);
  if (encoding === 'identity') return answer;
  if (!Object.hasOwn(DECODERS, encoding)) {
    return answer.ended === 'complete' ? { ...answer, ended: 'broken', errorName: 'UNKNOWN_CONTENT_ENCODING' } : answer;
  }
  // The stream must end properly, with its checksum. Data decoded before an error is kept.
  const decoder = DECODERS[encoding as keyof typeof DECODERS]();
  const chunks: Buffer[] = [];
  let length = 0;
  let errorName: string | undefined;
  decoder.end(answer.body);
  try {
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      const room = bytesMax - length;
      chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
      length += chunk.length;
      if (chunk.length > room) break;
    }
  } catch {
    errorName = 'BROKEN_CONTENT_ENCODING';
  }
  const isCut = length > bytesMax;
  const ended = isCut ? 'too_large' : errorName !== undefined && answer.ended === 'complete' ? 'broken' : answer.ended;
  return {
    ...answer,
    ended,
    body: Buffer.concat(chunks),
    bodyTotal: isCut || ended !== 'complete' ? null : length,
    ...(errorName !== undefined && { errorName }),
  };
}

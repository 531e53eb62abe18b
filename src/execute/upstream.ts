import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher, Pool } from 'undici';
import { codeOf, Fault } from '../base/fault.ts';

/** A model API, and the key that opens it. */
export interface UpstreamOptions {
  /** http or https. Whatever is asked is asked below its path. */
  readonly url: string;
  /** Undefined for an API that asks for none. */
  readonly key: string | undefined;
  readonly keyHeader: 'x-api-key' | 'authorization';
}

export interface UpstreamLimits {
  readonly connectMs: number;
  /** How long an answer may take to begin. */
  readonly headersMs: number;
  /** How long an answer that has begun may be silent. */
  readonly idleMs: number;
}

export interface UpstreamRequest {
  readonly method: 'GET' | 'HEAD' | 'POST';
  /** Judged: it begins with a slash and does not climb. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly signal: AbortSignal;
}

/** Hands requests on to a model API, with the real key, and follows no redirect. */
export class Upstream {
  readonly #pool: Promise<Pool>;
  readonly #base: string;
  readonly #key: Readonly<Record<string, string>>;

  constructor({ url, key, keyHeader }: UpstreamOptions, { connectMs, headersMs, idleMs }: UpstreamLimits) {
    const { origin, pathname } = judgedUrl(url);
    this.#base = pathname.replace(/\/+$/, '');
    this.#key = key === undefined ? {} : { [keyHeader]: keyHeader === 'authorization' ? `Bearer ${key}` : key };
    // Loaded while the sandbox is made, and not at all where nothing is handed on: it is a quarter of the time to the start.
    this.#pool = import('undici').then(
      ({ Pool }) =>
        new Pool(origin, {
          connections: CONNECTIONS_MAX,
          pipelining: 1,
          headersTimeout: headersMs,
          bodyTimeout: idleMs,
          connect: { timeout: connectMs },
          maxHeaderSize: HEADER_BYTES_MAX,
        }),
    );
  }

  /** Throws `UpstreamTrouble` if no answer begins. */
  async ask({ method, path, headers, body, signal }: UpstreamRequest): Promise<Dispatcher.ResponseData> {
    let answer: Dispatcher.ResponseData;
    try {
      const pool = await this.#pool;
      answer = await pool.request({
        method,
        path: this.#base + path,
        headers: { ...passedOn(headers), ...this.#key, 'accept-encoding': 'identity' },
        body: body.length > 0 ? body : null,
        signal,
      });
    } catch (error) {
      throw new UpstreamTrouble(troubleOf(error), { cause: error });
    }
    // Whoever reads it is told; whoever leaves it needs not to be.
    answer.body.on('error', () => undefined);
    const refused = refusalOf(answer);
    if (refused === undefined) return answer;
    answer.body.destroy();
    throw new UpstreamTrouble(refused);
  }

  async close(): Promise<void> {
    const pool = await this.#pool;
    await pool.destroy();
  }
}

/** Why there is no answer, in a sentence that names no address, path or key. */
export class UpstreamTrouble extends Error {
  override readonly name = 'UpstreamTrouble';
}

const CONNECTIONS_MAX = 64;
const HEADER_BYTES_MAX = 64 * 1024;

function judgedUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new Fault('usage', 'The address of the model API must begin with http:// or https://.');
  if (url.username || url.password || url.search || url.hash)
    throw new Fault('usage', 'The address of the model API must have no user, no query and no fragment.');
  return url;
}

/** What an agent says of its request, without what is ours to say: where it goes, who asks, and how the connection is used. */
function passedOn(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const named = new Set((headers.connection ?? '').split(',').map(name => name.trim().toLowerCase()));
  const passed: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !OURS.test(name) && !named.has(name)) passed[name] = value;
  }
  return passed;
}

const OURS =
  /^(?:host|connection|keep-alive|transfer-encoding|content-length|te|trailer|upgrade|expect|proxy-.*|via|forwarded|x-forwarded-.*|x-real-ip|cookie.*|x-http-method.*|x-method-override|authorization|x-api-key|accept-encoding)$/;

function refusalOf({ statusCode, headers }: Dispatcher.ResponseData): string | undefined {
  if (statusCode < 200 || (statusCode >= 300 && statusCode < 400) || statusCode > 599)
    return `The model API answered with status ${statusCode}, which is not followed.`;
  const encoding = headers['content-encoding'] ?? 'identity';
  return encoding === 'identity' ? undefined : 'The model API answered in an encoding that was not asked for.';
}

/** The word of the system or of the client for what broke, in a sentence. */
export function troubleOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = codeOf(cause) || codeOf(error);
  return TROUBLES[code] ?? `The connection to the model API failed${/^[A-Z_]{1,60}$/.test(code) ? ` (${code})` : ''}.`;
}

const TROUBLES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The model API refuses connections.',
  ENOTFOUND: 'The name of the model API is not known.',
  EAI_AGAIN: 'The name of the model API cannot be looked up.',
  UND_ERR_CONNECT_TIMEOUT: 'The model API cannot be reached.',
  UND_ERR_HEADERS_TIMEOUT: 'The model API did not begin to answer in time.',
  UND_ERR_BODY_TIMEOUT: 'The model API fell silent in the middle of an answer.',
};

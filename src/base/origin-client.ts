import { Fault } from './fault.ts';

/** Sends requests with a token to one origin. It follows no redirects, because they could leak the token. */
export class OriginClient {
  readonly #origin: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
      throw new Fault('usage', 'The URL of the server must start with http:// or https://.');
    if (!/^[\x21-\x7e]{1,4096}$/.test(token)) throw new Fault('usage', 'The token has no valid form.');
    this.#origin = new URL(url).origin;
    this.#token = token;
  }

  /** Resolves with the head of the answer. Rejects as `fetch` does if the server cannot be reached in time. */
  async send(method: string, path: string, { body, headers, timeoutMs, signal }: OriginRequest): Promise<Response> {
    const stop = new AbortController();
    const abort = (): void => stop.abort();
    const timer = setTimeout(abort, timeoutMs);
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted === true) abort();
    try {
      return await fetch(`${this.#origin}${path}`, {
        method,
        redirect: 'manual',
        signal: stop.signal,
        headers: { ...headers, authorization: `Bearer ${this.#token}` },
        ...(body !== undefined && { body }),
      });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }
}

interface OriginRequest {
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  /** How long the head of the answer may take. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

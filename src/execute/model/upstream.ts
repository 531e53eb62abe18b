import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import type { Dispatcher } from 'undici';
import { codeOf, Fault } from '../../base/fault.ts';

export interface UpstreamOptions {
  /** An http or https URL. Request paths are appended to its path. */
  readonly url: string;
  /** Undefined for an API without authentication. */
  readonly key: string | undefined;
  readonly keyHeader: 'x-api-key' | 'authorization';
  /** Further headers that only Proctor may set, such as an account ID. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly proxy?: string;
}

export interface UpstreamLimits {
  readonly connectMs: number;
  /** The longest wait for the start of an answer. */
  readonly headersMs: number;
  /** The longest pause within an answer. */
  readonly idleMs: number;
}

export interface UpstreamRequest {
  readonly method: 'GET' | 'HEAD' | 'POST';
  /** Checked: it starts with a slash and has no `..`. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly signal: AbortSignal;
}

/** Forwards requests to a model API with the real key. Follows no redirect. */
export class Upstream {
  readonly #connections: Promise<Dispatcher>;
  readonly #origin: string;
  readonly #base: string;
  readonly #ours: Readonly<Record<string, string>>;
  readonly #isProxied: boolean;

  constructor({ url, key, keyHeader, headers, proxy }: UpstreamOptions, limits: UpstreamLimits) {
    const target = judgedUrl(url);
    this.#origin = target.origin;
    this.#base = target.pathname.replace(/\/+$/, '');
    const sent = key === undefined ? {} : { [keyHeader]: keyHeader === 'authorization' ? `Bearer ${key}` : key };
    this.#ours = { ...headers, ...sent, 'accept-encoding': 'identity' };
    this.#isProxied = proxy !== undefined;
    this.#connections = connectionsTo(target, proxy, limits);
  }

  /** Throws `UpstreamError` if there is no answer. */
  async ask({ method, path, headers, body, signal }: UpstreamRequest): Promise<Dispatcher.ResponseData> {
    let answer: Dispatcher.ResponseData;
    try {
      const connections = await this.#connections;
      answer = await connections.request({
        origin: this.#origin,
        method,
        path: this.#base + path,
        headers: { ...passedOn(headers), ...this.#ours },
        body: body.length > 0 ? body : null,
        signal,
      });
    } catch (error) {
      throw new UpstreamError((this.#isProxied && proxyTroubleOf(error)) || connectionFailure(error), { cause: error });
    }
    // The reader of the body handles errors. An unread body needs a listener, too.
    answer.body.on('error', () => undefined);
    const refused = refusalOf(answer);
    if (refused === undefined) return answer;
    answer.body.destroy();
    throw new UpstreamError(refused);
  }

  async close(): Promise<void> {
    const connections = await this.#connections;
    await connections.destroy();
  }
}

/** Why there is no answer, as a sentence without address, path or key. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
}

/**
 * Verifies certificates even if NODE_TLS_REJECT_UNAUTHORIZED is set; NODE_EXTRA_CA_CERTS adds authorities. Loads undici
 * while the sandbox starts, and only if requests are forwarded, because loading takes a quarter of the start time.
 */
async function connectionsTo(
  { origin, hostname }: URL,
  proxy: string | undefined,
  { connectMs, headersMs, idleMs }: UpstreamLimits,
): Promise<Dispatcher> {
  const { Pool, ProxyAgent } = await import('undici');
  const connect = { timeout: connectMs, rejectUnauthorized: true };
  const options = {
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    headersTimeout: headersMs,
    bodyTimeout: idleMs,
    maxHeaderSize: HEADER_BYTES_MAX,
  };
  if (proxy === undefined) return new Pool(origin, { ...options, connect });
  return new ProxyAgent({
    ...options,
    uri: proxy,
    proxyTls: connect,
    // Undici does not set the server name itself if other TLS options are given.
    requestTls: { ...connect, servername: isIP(hostname.replace(/^\[|\]$/g, '')) ? '' : hostname },
    clientFactory: (url, given) => new Pool(url, { ...given, headersTimeout: connectMs, bodyTimeout: connectMs }),
  });
}

const CONNECTIONS_MAX = 64;
const HEADER_BYTES_MAX = 64 * 1024;

function judgedUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new Fault('usage', "The model API's address must start with http:// or https://.");
  if (url.username || url.password || url.search || url.hash)
    throw new Fault('usage', "The model API's address must not contain a user, query or fragment.");
  return url;
}

/** The headers of an agent's request, without those that Proctor sets: target, credentials and connection. */
function passedOn(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const named = new Set((headers.connection ?? '').split(',').map(name => name.trim().toLowerCase()));
  const passed: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !OURS.test(name) && !named.has(name)) passed[name] = value;
  }
  return passed;
}

const OURS =
  /^(?:host|connection|keep-alive|transfer-encoding|content-length|te|trailer|upgrade|expect|proxy-.*|via|forwarded|x-forwarded-.*|x-real-ip|x-original-.*|x-rewrite-.*|cookie.*|x-http-method.*|x-method-override|authorization|x-api-key|chatgpt-account-id|accept-encoding)$/;

function refusalOf({ statusCode, headers }: Dispatcher.ResponseData): string | undefined {
  if (statusCode < 200 || (statusCode >= 300 && statusCode < 400) || statusCode > 599)
    return `The model API answered with status ${statusCode}, which Proctor does not follow.`;
  const encoding = headers['content-encoding'] ?? 'identity';
  return encoding === 'identity' ? undefined : 'The model API answered in an encoding that Proctor did not request.';
}

/** An error code from the system or from undici, as a sentence. */
export function connectionFailure(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = codeOf(cause) || codeOf(error);
  return TROUBLES[code] ?? `The connection to the model API failed${/^[A-Z_]{1,60}$/.test(code) ? ` (${code})` : ''}.`;
}

/** Problems with a proxy. The connection error then comes from the proxy, not from the model API. */
function proxyTroubleOf(error: unknown): string | undefined {
  const status = /^Proxy response \((\d{3})\)/.exec(error instanceof Error ? error.message : '')?.[1];
  if (status !== undefined) return `The proxy refuses to connect to the model API (status ${status}).`;
  return PROXY_TROUBLES[codeOf(error)];
}

const PROXY_TROUBLES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The proxy refuses connections.',
  ENOTFOUND: "The proxy's host name does not exist.",
  EAI_AGAIN: "The proxy's host name cannot be resolved.",
  UND_ERR_CONNECT_TIMEOUT: 'The proxy cannot be reached.',
};

const UNTRUSTED =
  "The model API's certificate is signed by an untrusted authority. Set NODE_EXTRA_CA_CERTS to a file with additional authorities.";

const TROUBLES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The model API refuses connections.',
  ENOTFOUND: "The model API's host name does not exist.",
  EAI_AGAIN: "The model API's host name cannot be resolved.",
  UND_ERR_CONNECT_TIMEOUT: 'The model API cannot be reached.',
  UND_ERR_HEADERS_TIMEOUT: 'The model API did not start to answer in time.',
  UND_ERR_BODY_TIMEOUT: 'The model API stopped in the middle of an answer.',
  CERT_HAS_EXPIRED: "The model API's certificate has expired.",
  CERT_NOT_YET_VALID: "The model API's certificate is not valid yet.",
  ERR_TLS_CERT_ALTNAME_INVALID: "The model API's certificate is for another host name.",
  ERR_SSL_WRONG_VERSION_NUMBER: 'The model API does not use TLS, although its address starts with https://.',
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
};

import { type HttpAnswer, HttpTarget } from '../../execute/http.ts';
import { SseReader } from '../../targets/mapping/sse-reader.ts';
import { mcpHeaderValue } from '../../targets/mcp-headers.ts';
import { isResponseTo, MODERN_REVISION, readRpc, replyToServer, type RpcMessage, rpcText } from '../../targets/mcp.ts';
import { type ResponseFailure, responseFailure } from './http-failure.ts';
import type { ApiCall, HttpApi } from './http-target.ts';
import {
  type McpAnswer,
  type McpChannel,
  type McpContext,
  type McpRequest,
  OTHER_MESSAGES_MAX,
  TOO_MANY_MESSAGES,
} from './mcp-channel.ts';
import { checkedAddress } from './declared-target.ts';
import { JSON_HEADERS } from './protocol-target.ts';
import type { SuiteSettings } from './settings.ts';

export interface McpHttpOptions extends Pick<HttpApi, 'onExchange'> {
  readonly url: string;
  readonly settings: SuiteSettings;
}

/** Speaks streamable HTTP: every message is a POST, and a response is JSON or a stream with the response in it. */
export class McpHttpChannel implements McpChannel {
  readonly generation = 0;
  readonly #http: HttpTarget;
  readonly #path: string;
  readonly #options: McpHttpOptions;
  #ids = 0;

  constructor(options: McpHttpOptions) {
    const { origin, pathname } = checkedAddress(options.url, 'http');
    // A reply to the server needs a connection besides that of the request.
    this.#http = new HttpTarget(origin, options.settings.concurrency + 1);
    this.#path = pathname;
    this.#options = options;
  }

  async request(request: McpRequest): Promise<McpAnswer> {
    const id = ++this.#ids;
    const { revision, method, params, name } = request;
    const isModern = revision === undefined;
    const finder = new ResponseFinder(id, this.#options.settings.bodyBytesMax, message => {
      const reply = isModern ? undefined : replyToServer(message);
      if (reply !== undefined)
        void this.#post({ method: 'POST', path: this.#path, headers: headersOf(request), body: reply }, request);
    });
    const headers = {
      ...headersOf(request),
      ...(isModern && { 'mcp-method': method, ...(name !== undefined && { 'mcp-name': mcpHeaderValue(name) }) }),
    };
    const body = rpcText({ id, method, params }, isModern);
    const answer = await this.#post({ method: 'POST', path: this.#path, headers, body }, request, finder);
    return this.#read(answer, finder);
  }

  async notify(method: string, context: McpContext): Promise<void> {
    const body = rpcText({ method, params: {} }, false);
    await this.#post({ method: 'POST', path: this.#path, headers: headersOf(context), body }, context);
  }

  async leave(session: string, revision: string): Promise<void> {
    const context = { revision, session, headers: {}, deadlineMs: LEAVE_MS };
    await this.#post({ method: 'DELETE', path: this.#path, headers: headersOf(context) }, context);
  }

  cancel(): void {
    this.#http.cancel();
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #post(call: ApiCall, { deadlineMs }: McpContext, finder?: ResponseFinder): Promise<HttpAnswer> {
    const { idleMs, bodyBytesMax } = this.#options.settings;
    const answer = await this.#http.send({
      ...call,
      deadlineMs,
      idleMs,
      bodyBytesMax,
      redirectsMax: 0,
      ...(finder && { onData: chunk => finder.take(chunk) }),
    });
    this.#options.onExchange?.(call, answer);
    return answer;
  }

  #read(answer: HttpAnswer, finder: ResponseFinder): McpAnswer {
    const { status = 0 } = answer;
    const failure = responseFailure(answer, this.#options.settings, {
      url: this.#options.url,
      kind: 'mcp-tool',
    });
    const isStream = /^text\/event-stream\b/i.test(answer.headers['content-type'] ?? '');
    const body = isStream ? (finder.found ?? answer.body) : answer.body;
    const response = isStream && !finder.found ? undefined : readRpc(body);
    const unanswered = isStream ? streamFailure(finder) : wrongId(response, finder);
    return {
      answer: { ...answer, body, ...(answer.ended === 'complete' && { bodyTotal: body.length }) },
      failure: failure ?? unanswered,
      response,
      mayBeLegacy: answer.ended === 'complete' && status >= 400 && status < 500 && !OWN_MEANING.has(status),
    };
  }
}

const LEAVE_MS = 2_000;

/** These say something about the client, not about the revision. */
const OWN_MEANING: ReadonlySet<number> = new Set([401, 403, 407, 408, 425, 429]);

function headersOf({ revision, session, headers }: Omit<McpContext, 'deadlineMs'>): Record<string, string> {
  return {
    ...JSON_HEADERS,
    accept: 'application/json, text/event-stream',
    ...headers,
    'mcp-protocol-version': revision ?? MODERN_REVISION,
    ...(session !== undefined && { 'mcp-session-id': session }),
  };
}

/** Looks for the response in a stream, and passes on what the server sends before it. */
class ResponseFinder {
  readonly id: number;
  found: Buffer | undefined;
  isFlooded = false;
  readonly #reader: SseReader;
  readonly #onOther: (message: RpcMessage) => void;
  #others = 0;

  constructor(id: number, bytesMax: number, onOther: (message: RpcMessage) => void) {
    this.id = id;
    this.#reader = new SseReader(bytesMax);
    this.#onOther = onOther;
  }

  take(chunk: Buffer): 'enough' | undefined {
    for (const data of this.#reader.take(chunk)) {
      const message = readRpc(data);
      if (message && isResponseTo(this.id, message)) {
        this.found = data;
        return 'enough';
      }
      // Bytes that name the id but are not JSON are an unreadable response.
      if (!message && idIn(data) === this.id) {
        this.found = data;
        return 'enough';
      }
      if (++this.#others > OTHER_MESSAGES_MAX) {
        this.isFlooded = true;
        return 'enough';
      }
      if (message) this.#onOther(message);
    }
    return undefined;
  }
}

/** The id in a message that is not valid JSON. Servers write it at the start or at the end. */
export function idIn(message: Buffer): number | undefined {
  const [head, tail] = [message.subarray(0, ID_BYTES), message.subarray(-ID_BYTES)].map(part =>
    part.toString('latin1'),
  );
  const found =
    /^\s*\{[^{[]*?"id"\s*:\s*(\d{1,15})\s*[,}]/.exec(head ?? '') ?? /"id"\s*:\s*(\d{1,15})\s*\}?\s*$/.exec(tail ?? '');
  return found ? Number(found[1]) : undefined;
}

const ID_BYTES = 200;

function streamFailure({ found, isFlooded }: ResponseFinder): ResponseFailure | undefined {
  if (found) return undefined;
  return isFlooded ? TOO_MANY_MESSAGES : NO_RESPONSE;
}

const NO_RESPONSE: ResponseFailure = {
  class: 'schema_mismatch',
  message: 'The stream ended without a response to the request.',
  errorName: 'NO_RESPONSE',
  mayRetry: false,
};

/** The reader of replies reports a body that is not a JSON object. */
function wrongId(response: RpcMessage | undefined, { id }: ResponseFinder): ResponseFailure | undefined {
  if (!response || isResponseTo(id, response)) return undefined;
  const message = 'The server sent something other than the response to the request.';
  return { class: 'schema_mismatch', message, errorName: 'WRONG_ID', mayRetry: false };
}

import type { Duplex } from 'node:stream';
import { Client, type Dispatcher, WebSocket } from 'undici';
import { monotonicMs } from '../base/clock.ts';
import { codeOf } from '../base/fault.ts';
import { Handshake, type HandshakeEnd } from './websocket-handshake.ts';
import type { HttpAnswer } from './http.ts';

export interface SocketRequest {
  readonly url: string;
  /** Headers of the handshake. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sent one after the other, as soon as the connection is open. */
  readonly messages: readonly string[];
  /** Whether this message ends the conversation. Without one, the server ends it. */
  readonly isLast: (message: string) => boolean;
  /** From connecting to the last message. */
  readonly deadlineMs: number;
  /** The longest time without any data. */
  readonly idleMs: number;
  readonly bodyBytesMax: number;
  readonly messagesMax: number;
}

/** The messages of a conversation, or the response of a server that refused it. */
export interface SocketAnswer extends HttpAnswer {
  /** The server accepted the handshake, so `body` has one message per line. */
  readonly isOpened: boolean;
  /** When each message arrived, in milliseconds after the request. */
  readonly frameMs: readonly number[];
}

/** Holds conversations over WebSockets, each over its own connection. Never follows a redirect. */
export class WebSocketClient {
  readonly #open = new Set<Conversation>();

  converse(request: SocketRequest): Promise<SocketAnswer> {
    return new Promise(resolve => {
      const conversation: Conversation = new Conversation(request, resolve, () => this.#open.delete(conversation));
      this.#open.add(conversation);
    });
  }

  cancel(): void {
    for (const conversation of this.#open) conversation.stop('cancelled');
  }

  /** Drops every connection, including those whose server has yet to confirm the end. */
  close(): void {
    for (const conversation of this.#open) conversation.drop();
  }
}

class Conversation {
  readonly #request: SocketRequest;
  readonly #resolve: (answer: SocketAnswer) => void;
  readonly #onDropped: () => void;
  readonly #startedMs = monotonicMs();
  readonly #deadline: NodeJS.Timeout;
  readonly #idle: NodeJS.Timeout | undefined;
  readonly #client: Client;
  readonly #socket: WebSocket;
  readonly #handshake: Handshake;
  readonly #lines: Buffer[] = [];
  readonly #frameMs: number[] = [];
  #length = 0;
  /** Bytes that no complete message accounts for yet. */
  #unread = 0;
  #stream: Duplex | undefined;
  #streamError: string | undefined;
  #isOver = false;

  constructor(request: SocketRequest, resolve: (answer: SocketAnswer) => void, onDropped: () => void) {
    this.#request = request;
    this.#resolve = resolve;
    this.#onDropped = onDropped;
    this.#deadline = setTimeout(() => this.stop('timeout'), Math.max(0, request.deadlineMs));
    // An idle limit of at least the deadline has no effect.
    this.#idle = request.idleMs < request.deadlineMs ? setTimeout(() => this.stop('idle'), request.idleMs) : undefined;
    this.#handshake = new Handshake(request.bodyBytesMax, end => this.#refused(end));
    this.#client = new Client(httpOrigin(request.url), {
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: 0 },
      maxHeaderSize: HEADER_BYTES_MAX,
    });
    const dispatcher: Dispatcher = this.#client.compose(this.#handshake.interceptor);
    this.#socket = new WebSocket(request.url, { dispatcher, headers: { ...request.headers } });
    this.#socket.binaryType = 'arraybuffer';
    this.#socket.addEventListener('open', () => this.#opened());
    this.#socket.addEventListener('message', ({ data }: { data: unknown }) => this.#take(data));
    this.#socket.addEventListener('close', ({ code }) => this.#closed(code));
  }

  stop(ended: SocketAnswer['ended'], errorName?: string): void {
    this.#finish(ended, errorName);
    this.drop();
  }

  drop(): void {
    this.#finish('cancelled');
    this.#handshake.stream?.destroy();
    void this.#client.destroy();
    this.#onDropped();
  }

  #opened(): void {
    this.#stream = this.#handshake.stream;
    this.#idle?.refresh();
    this.#stream?.on('error', error => (this.#streamError = codeOf(error)));
    // undici's own listener comes first, so `#take` has seen the messages in this chunk.
    this.#stream?.on('data', (chunk: Buffer) => this.#count(chunk.length));
    for (const message of this.#request.messages) if (!this.#isOver) this.#socket.send(message);
  }

  /** Counts the bytes of a message that is not complete, because a server may never complete it. */
  #count(bytes: number): void {
    this.#idle?.refresh();
    this.#unread += bytes;
    if (this.#unread > this.#request.bodyBytesMax + CHUNK_BYTES_MAX) this.stop('too_large');
  }

  #take(data: unknown): void {
    if (this.#isOver) return;
    if (typeof data !== 'string') return this.stop('broken', 'BINARY_MESSAGE');
    const line = Buffer.from(`${lineOf(data)}\n`);
    this.#unread = 0;
    if (this.#frameMs.length === this.#request.messagesMax) return this.stop('broken', 'TOO_MANY_MESSAGES');
    if (this.#length + line.length > this.#request.bodyBytesMax) return this.stop('too_large');
    this.#length += line.length;
    this.#lines.push(line);
    this.#frameMs.push(monotonicMs() - this.#startedMs);
    if (!this.#request.isLast(data)) return;
    this.#finish('complete');
    this.#socket.close(NORMAL);
    // A server that does not confirm the end keeps its connection no longer than this.
    setTimeout(() => this.drop(), CLOSE_MS).unref();
  }

  #closed(code: number): void {
    const { stream, errorName } = this.#handshake;
    if (!this.#stream) this.#finish('broken', errorName ?? (stream ? 'WS_PROTOCOL' : 'HANDSHAKE_FAILED'));
    else if (code === ABNORMAL) this.#finish('broken', this.#lostBy());
    else if (code === NORMAL || code === NO_CODE) this.#finish('complete');
    else this.#finish('broken', `WS_CLOSE_${code}`);
    this.drop();
  }

  /** undici destroys a connection that breaks the protocol. Otherwise, the server ended it. */
  #lostBy(): string {
    if (this.#streamError !== undefined && this.#streamError !== '') return this.#streamError;
    return this.#stream?.readableEnded === false ? 'WS_PROTOCOL' : 'UND_ERR_SOCKET';
  }

  #refused({ ended, errorName }: HandshakeEnd): void {
    this.stop(ended, errorName);
  }

  #finish(ended: SocketAnswer['ended'], errorName?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#deadline);
    clearTimeout(this.#idle);
    const { status, statusText, headers, body } = this.#handshake;
    const isOpened = this.#stream !== undefined;
    this.#resolve({
      ended,
      isOpened,
      latencyMs: monotonicMs() - this.#startedMs,
      headers,
      body: isOpened ? Buffer.concat(this.#lines) : body,
      bodyTotal: ended === 'complete' ? (isOpened ? this.#length : body.length) : null,
      frameMs: this.#frameMs,
      ...(status !== undefined && { status }),
      ...(statusText !== undefined && statusText !== '' && { statusText }),
      ...(errorName !== undefined && { errorName }),
    });
  }
}

const HEADER_BYTES_MAX = 64 * 1024;
/** The chunk with the end of a message may also contain other bytes, such as the headers of frames. */
const CHUNK_BYTES_MAX = 256 * 1024;
const CLOSE_MS = 1_000;
const NORMAL = 1000;
const NO_CODE = 1005;
const ABNORMAL = 1006;

function httpOrigin(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol === 'wss:' ? 'https' : 'http'}://${host}`;
}

/** A message as one line of JSON. Valid JSON stays as it came: it has line breaks only between its values. */
function lineOf(message: string): string {
  return isJson(message) ? message.replaceAll(/[\r\n]+/g, ' ') : JSON.stringify(message);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

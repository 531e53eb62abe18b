import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { codeOf } from '../base/fault.ts';
import type { HttpAnswer } from './http.ts';

export interface HandshakeEnd {
  readonly ended: HttpAnswer['ended'];
  readonly errorName?: string;
}

/** Watches the HTTP request that opens a WebSocket, because undici's WebSocket hides why a server refused it. */
export class Handshake {
  status: number | undefined;
  statusText: string | undefined;
  headers: Record<string, string> = {};
  /** The connection, once the server has accepted the handshake. */
  stream: Duplex | undefined;
  /** Why the request failed. */
  errorName: string | undefined;
  readonly #bytesMax: number;
  readonly #onRefused: (end: HandshakeEnd) => void;
  readonly #chunks: Buffer[] = [];
  #length = 0;

  constructor(bytesMax: number, onRefused: (end: HandshakeEnd) => void) {
    this.#bytesMax = bytesMax;
    this.#onRefused = onRefused;
  }

  get body(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  readonly interceptor: Dispatcher.DispatcherComposeInterceptor = dispatch => (options, handler) =>
    dispatch({ ...options, headers: plainHeaders(options.headers) }, this.#watched(handler));

  #watched(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
    return {
      onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
      onRequestUpgrade: (controller, status, headers, socket) => {
        this.#note(status, headers);
        if (Object.hasOwn(this.headers, 'sec-websocket-extensions')) {
          socket.destroy();
          return this.#onRefused({ ended: 'broken', errorName: 'UNKNOWN_CONTENT_ENCODING' });
        }
        this.stream = socket;
        handler.onRequestUpgrade?.(controller, status, headers, socket);
      },
      // A response other than an upgrade stays here: undici would drop its body.
      onResponseStart: (_controller, status, headers, statusText) => this.#note(status, headers, statusText),
      onResponseData: (_controller, chunk) => this.#take(chunk),
      onResponseEnd: () => this.#onRefused({ ended: 'complete' }),
      onResponseError: (controller, error) => {
        this.errorName = codeOf(error) || error.name;
        handler.onResponseError?.(controller, error);
      },
    };
  }

  #note(status: number, headers: Record<string, string | string[] | undefined>, statusText?: string): void {
    if (status < 200 && status !== SWITCHING) return;
    this.status = status;
    this.statusText = statusText;
    for (const [name, value] of Object.entries(headers)) this.headers[name] = [value].flat().join(', ');
  }

  #take(chunk: Buffer): void {
    const room = this.#bytesMax - this.#length;
    this.#chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
    this.#length += chunk.length;
    if (chunk.length > room) this.#onRefused({ ended: 'too_large' });
  }
}

const SWITCHING = 101;

/** Without compression, the size of what arrives bounds the size of the messages. */
function plainHeaders(headers: Dispatcher.DispatchOptions['headers']): Record<string, string> {
  const entries = Object.entries((headers ?? {}) as Record<string, string>);
  return {
    ...Object.fromEntries(entries.filter(([name]) => name.toLowerCase() !== 'sec-websocket-extensions')),
    'accept-encoding': 'identity',
  };
}

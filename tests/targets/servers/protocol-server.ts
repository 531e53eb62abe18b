import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { Kind, Stage, Told } from './kind.ts';

export const MODEL = 'support-large-2026-10';
export const TOKENS = { input: 1_200, output: 300 };

/** A request, with its body parsed. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Record<string, unknown>;
}

/** A protocol, as an HTTP server speaks it. */
export interface Protocol extends Kind {
  /** A server's side of the protocol. */
  readonly speak: () => Speaker;
  /** How a document travels as the body of a reply: as it is, or as one frame of a stream. */
  readonly framed: (document: Buffer) => Buffer;
}

export interface Speaker {
  /** The question in a request. Undefined if the request was another one and is answered. Throws if it is invalid. */
  hear(asked: Asked, response: ServerResponse): string | undefined;
  answer(told: Told, asked: Asked, response: ServerResponse): Promise<void> | void;
}

/** What a server does with a question. */
export type Scene = Told | ((response: ServerResponse, asked: Asked) => void);

/** A real server on loopback that speaks one protocol. The first word of a question names the scene to play. */
export class ProtocolServer implements Stage {
  readonly asked: Asked[] = [];
  /** Requests that break the protocol. */
  readonly refused: string[] = [];
  readonly #server: Server;
  readonly #speaker: Speaker;
  readonly #scenes: Readonly<Record<string, Scene>>;

  constructor(protocol: Protocol, scenes: Readonly<Record<string, Scene>>) {
    this.#speaker = protocol.speak();
    this.#scenes = scenes;
    this.#server = createServer((request, response) => void this.#take(request, response));
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  async start(): Promise<string> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => this.stop());
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    try {
      const { method = '', url = '', headers } = request;
      const text = Buffer.concat(chunks).toString();
      const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
      const asked: Asked = { method, path: url, headers, body };
      this.asked.push(asked);
      const question = this.#speaker.hear(asked, response);
      if (question === undefined) return;
      const scene = this.#scenes[question.split(' ', 1)[0] ?? ''] ?? { text: `You asked: ${question}` };
      if (typeof scene === 'function') scene(response, asked);
      else if (scene.crash !== undefined) crash(response, scene.crash);
      else await this.#speaker.answer(scene, asked, response);
    } catch (error) {
      this.refused.push(error instanceof Error ? error.message : String(error));
      if (!response.headersSent) sendJson(response, { error: { message: 'bad request', type: 'invalid' } }, 400);
      else response.destroy();
    }
  }
}

function crash(response: ServerResponse, words: string): void {
  response.writeHead(500, { 'x-echo': words }).end(JSON.stringify({ error: words }));
}

export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

/** Sends frames one at a time, with pauses, so that they arrive at different times. */
export async function sendFrames(
  response: ServerResponse,
  frames: readonly string[],
  contentType = 'text/event-stream',
): Promise<void> {
  response.writeHead(200, { 'content-type': contentType });
  for (const frame of frames) {
    response.write(frame);
    await wait(FRAME_PAUSE_MS);
  }
  response.end();
}

const FRAME_PAUSE_MS = 3;

/** A server-sent event with JSON. */
export function sse(data: unknown, event?: string): string {
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}

export const asDocument = (document: Buffer): Buffer => document;
export const asEvent = (document: Buffer): Buffer =>
  Buffer.concat([Buffer.from('data: '), document, Buffer.from('\n\n')]);
export const asLine = (document: Buffer): Buffer => Buffer.concat([document, Buffer.from('\n')]);

/** A text in pieces, as models stream it. */
export function pieces(text: string, count = 3): string[] {
  const size = Math.max(1, Math.ceil(text.length / count));
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
}

/** Throws unless a request conforms to the protocol. */
export function requires(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(`The request has no valid ${what}.`);
}

export const bearerOf = ({ headers }: Asked): string | undefined =>
  /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];

/** A text at a path of keys and indexes. Throws if there is none. */
export function textAt(value: unknown, ...keys: readonly (string | number)[]): string {
  let at = value;
  for (const key of keys) at = (at as Record<string | number, unknown> | undefined)?.[key];
  requires(typeof at === 'string', keys.join('.'));
  return at;
}

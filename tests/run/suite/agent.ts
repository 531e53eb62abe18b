import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';

export interface Seen {
  readonly caseId: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Record<string, unknown>;
  readonly url: string | undefined;
}

type Behaviour = (seen: Seen, response: ServerResponse, times: number) => void;

/** A small real HTTP agent. Its behaviour depends on the case id; by default, it answers correctly. */
export class Agent {
  readonly seen: Seen[] = [];
  readonly #server: Server;
  readonly #behaviours: Readonly<Record<string, Behaviour>>;
  readonly #times = new Map<string, number>();

  constructor(behaviours: Readonly<Record<string, Behaviour>> = {}) {
    this.#behaviours = behaviours;
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = JSON.parse(Buffer.concat(chunks).toString() || '{}') as Record<string, unknown>;
        const seen = { caseId: String(body['case_id']), headers: request.headers, body, url: request.url };
        this.seen.push(seen);
        const times = (this.#times.get(seen.caseId) ?? 0) + 1;
        this.#times.set(seen.caseId, times);
        (this.#behaviours[seen.caseId] ?? answersWell)(seen, response, times);
      });
    });
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  /** Stops when the test ends. */
  async start(port = 0): Promise<string> {
    onTestFinished(() => this.stop());
    return this.listen(port);
  }

  async listen(port = 0): Promise<string> {
    await new Promise<void>(resolve => this.#server.listen(port, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  times(caseId: string): number {
    return this.#times.get(caseId) ?? 0;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }
}

/** A plain answer. */
export function answerTo({ body }: Seen, over: object = {}): object {
  return {
    case_id: body['case_id'],
    version: body['version'],
    proposed_actions: [],
    events: [],
    final_output: { content_type: 'text', content: `You asked: ${(body['input'] as { user: string }).user}` },
    ...over,
  };
}

export const answersWell: Behaviour = (seen, response) => json(response, answerTo(seen));

export function json(response: ServerResponse, value: unknown, status = 200, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(value));
}

/** An answer with some keys replaced. */
export const saying =
  (over: object): Behaviour =>
  (seen, response) =>
    json(response, answerTo(seen, over));

export const sending =
  (bytes: string | Buffer, headers: object = {}, status = 200): Behaviour =>
  (_seen, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(bytes);
  };

export const hangs: Behaviour = () => undefined;

/** Sends a byte now and then, forever. */
export const drips: Behaviour = (_seen, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write('{"case');
  const timer = setInterval(() => response.write(' '), 50);
  response.on('close', () => clearInterval(timer));
};

export const cutsItsBody: Behaviour = (_seen, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write('{"case_id": "half');
  setTimeout(() => response.destroy(), 20);
};

export const floods =
  (bytes: number): Behaviour =>
  (_seen, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(bytes) });
    const chunk = Buffer.alloc(64 * 1024, 'x');
    let left = bytes;
    const more = (): void => {
      while (left > 0) {
        left -= chunk.length;
        if (!response.write(chunk)) {
          response.once('drain', more);
          return;
        }
      }
      response.end();
    };
    more();
  };

export const gzipBomb = (bytes: number): Behaviour =>
  sending(gzipSync(Buffer.alloc(bytes, ' ')), { 'content-encoding': 'gzip' });

export const redirectsTo =
  (location: string, status: number): Behaviour =>
  (_seen, response) => {
    response.writeHead(status, { location });
    response.end();
  };

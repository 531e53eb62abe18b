import { createServer, get, type IncomingMessage, type OutgoingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { RunFolder } from '../../../src/evidence/run-folder/runs.ts';
import type { LiveHub } from '../../../src/serve/live/hub.ts';

export interface SseEvent {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: Record<string, unknown>;
}

/** A bare HTTP server in front of a hub. */
export async function serverOf(
  hub: LiveHub,
  place: RunFolder,
): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer((request, response) => {
    const last = request.headers['last-event-id'];
    hub.view(place, response, typeof last === 'string' ? { after: last } : {});
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

/** A viewer that keeps what it gets, without its comments. */
export class SseClient {
  readonly events: SseEvent[] = [];
  readonly ended: Promise<void>;
  comments = 0;
  response: IncomingMessage | undefined;
  #rest = '';
  readonly #request;

  constructor(
    url: string,
    lastId?: string,
    onEvent: (client: SseClient) => void = () => undefined,
    more: OutgoingHttpHeaders = {},
  ) {
    const headers = { ...more, ...(lastId !== undefined && { 'last-event-id': lastId }) };
    this.#request = get(url, { headers, agent: false });
    this.ended = new Promise(resolve => {
      this.#request.once('error', () => resolve());
      this.#request.once('response', (response: IncomingMessage) => {
        this.response = response;
        response.setEncoding('utf8');
        response.on('data', (text: string) => this.#take(text, onEvent));
        response.once('error', () => resolve());
        response.once('close', () => resolve());
      });
    });
  }

  leave(): void {
    this.#request.destroy();
  }

  get lastId(): string | undefined {
    return this.events.findLast(({ id }) => id !== undefined)?.id;
  }

  #take(text: string, onEvent: (client: SseClient) => void): void {
    const parts = `${this.#rest}${text}`.split('\n\n');
    this.#rest = parts.pop() ?? '';
    for (const part of parts) {
      if (part.startsWith(':')) this.comments++;
      const fields = new Map(
        part.split('\n').map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      );
      const [event, data] = [fields.get('event'), fields.get('data')];
      if (event === undefined || data === undefined) continue;
      this.events.push({ event, id: fields.get('id'), data: JSON.parse(data) as Record<string, unknown> });
      onEvent(this);
    }
  }
}

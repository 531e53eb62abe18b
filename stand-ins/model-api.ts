/**
 * A scripted model API on loopback: `POST /v1/messages` for Claude, `POST /v1/responses` for Codex. The task names the
 * script, such as `SCENARIO=write`; a caller can add scripts by model. Answers depend only on the request, so that
 * recordings can be replayed. Start it with `node scripts/run.mjs scripts/model-api.ts`.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Scenario, scenarioIn } from './scenarios.ts';
import { anthropicEvents, openaiEvents, type Event } from './wire.ts';

const REQUEST_BYTES_MAX = 32 * 1024 ** 2;
const REQUESTS_KEPT_MAX = 200;

interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** The API key, from either header. */
  readonly key: string | undefined;
  readonly scenario: string;
  /** The number of tool results in the request. */
  readonly results: number;
  readonly text: string;
}

export interface ModelApi {
  readonly port: number;
  readonly url: string;
  readonly asked: Asked[];
  close(): Promise<void>;
}

/** Decides what a model does next. Returns undefined for a model or task that it does not know. */
export type ModelScript = (model: string, text: string, results: number) => Scenario | undefined;

export async function startModelApi(script: ModelScript = () => undefined): Promise<ModelApi> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    answer(request, response, asked, script).catch(() => response.destroy());
  });
  // Tools may take a long time, so the server has no timeouts.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    asked,
    close: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  asked: Asked[],
  script: ModelScript,
): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  const wire = pathname === '/v1/messages' ? 'anthropic' : pathname === '/v1/responses' ? 'openai' : undefined;
  const text = await bodyOf(request);
  if (request.method !== 'POST' || wire === undefined) return refuse(response, 404, 'not_found_error', 'No such path');
  const word = /SCENARIO=(\w+)/.exec(text)?.[1] ?? 'say';
  const results = text.match(
    wire === 'anthropic' ? /"type":"tool_result"/g : /"type":"(?:custom_tool|function)_call_output"/g,
  );
  const seen: Asked = {
    path: pathname,
    headers: request.headers,
    key: keyOf(request),
    scenario: word,
    results: results?.length ?? 0,
    text,
  };
  if (asked.length < REQUESTS_KEPT_MAX) asked.push(seen);
  const place = { wire, port: request.socket.localPort ?? 0, cwd: cwdIn(text) } as const;
  const model = modelIn(text);
  const scripted = script(model ?? '', text, seen.results);
  const scenario = scripted ?? scenarioIn(word, seen.results, place);
  switch (scenario.how) {
    case 'refuse':
      return refuse(response, scenario.status, scenario.type, scenario.message);
    case 'cut':
      response.destroy();
      return;
    case 'silent': {
      // One event to show that the server is alive, then silence until the agent disconnects.
      const [first] = wire === 'anthropic' ? anthropicEvents([], 'id') : openaiEvents([], 'id');
      open(response).write(sse(first as Event));
      return;
    }
    case 'answer': {
      const id = `${word}_${seen.results}`;
      const named = scripted && model;
      const events =
        wire === 'anthropic' ? anthropicEvents(scenario.blocks, id, named) : openaiEvents(scenario.blocks, id);
      open(response).end(events.map(sse).join(''));
    }
  }
}

function open(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
}

function sse(event: Event): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Both APIs have `error.type` and `error.message`, and neither agent reads more. */
function refuse(response: ServerResponse, status: number, type: string, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ type: 'error', error: { type, message } }));
}

function keyOf({ headers }: IncomingMessage): string | undefined {
  const key = headers['x-api-key'];
  return typeof key === 'string' ? key : headers.authorization?.replace(/^Bearer /, '');
}

function modelIn(text: string): string | undefined {
  return /"model":"([^"]+)"/.exec(text)?.[1];
}

/** The working folder, as the agent reports it. */
function cwdIn(text: string): string {
  return /Primary working directory: ([^\s"\\]+)/.exec(text)?.[1] ?? /<cwd>([^<]+)<\/cwd>/.exec(text)?.[1] ?? '/work';
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > REQUEST_BYTES_MAX) throw new Error('A request that is too large.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

import path from 'node:path';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { Tokens } from '../../../src/serve/access/tokens.ts';
import { serverFolder } from '../../../src/serve/state/server-folder.ts';
import { serve, type ServeOptions } from '../../../src/serve/serve.ts';

/** What the tests read of an answer. */
interface AnswerBody {
  readonly run_id: string;
  readonly state: string;
  readonly position: number | null;
  readonly error: { readonly code: string; readonly message: string };
}

/** A real server on a free port, asked with a token. */
export interface OrderingServer {
  readonly origin: string;
  /** A token with the role `runner`. */
  readonly token: string;
  ask(at: string, init?: RequestInit): Promise<Response>;
  json(at: string, init?: RequestInit): Promise<{ readonly status: number; readonly body: AnswerBody }>;
  /** The lines of the server's log so far. */
  readonly log: readonly string[];
  stop(): Promise<void>;
}

/** Serves a project until the test ends. */
export async function orderingServer(cwd: string, options: Partial<ServeOptions> = {}): Promise<OrderingServer> {
  const server = await stoppableServer(cwd, options);
  onTestFinished(() => server.stop());
  return server;
}

/** Serves a project until it is stopped. */
export async function stoppableServer(cwd: string, options: Partial<ServeOptions> = {}): Promise<OrderingServer> {
  const log: string[] = [];
  const onLog = (line: string): void => void log.push(line);
  const serving = await serve({ cwd, host: '127.0.0.1', port: 0, drainMs: 1_000, onLog, ...options });
  const { origin } = new URL(serving.address);
  const tokens = new Tokens(serverFolder(path.join(cwd, '.proctor')), systemClock);
  const { text: token } = await tokens.create({ name: 'tests', role: 'runner', expiresInMs: undefined });
  const ask: OrderingServer['ask'] = (at, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${token}`);
    return fetch(`${origin}${at}`, { ...init, headers });
  };
  return {
    origin,
    token,
    ask,
    json: async (at, init) => {
      const response = await ask(at, init);
      return { status: response.status, body: (await response.json()) as AnswerBody };
    },
    log,
    stop: () => serving.stop(),
  };
}

import { onTestFinished } from 'vitest';
import { serve, type ServeOptions } from '../../../src/serve/serve.ts';

/** A real server on a free port, asked with the secret of its address. */
export interface OrderingServer {
  readonly origin: string;
  readonly secret: string;
  ask(at: string, init?: RequestInit): Promise<Response>;
  json<Answer>(at: string, init?: RequestInit): Promise<{ readonly status: number; readonly body: Answer }>;
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
  const { origin, hash } = new URL(serving.address);
  const secret = new URLSearchParams(hash.slice(1)).get('secret') ?? '';
  const ask: OrderingServer['ask'] = (at, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${secret}`);
    return fetch(`${origin}${at}`, { ...init, headers });
  };
  return {
    origin,
    secret,
    ask,
    json: async <Answer>(at: string, init?: RequestInit) => {
      const response = await ask(at, init);
      return { status: response.status, body: (await response.json()) as Answer };
    },
    log,
    stop: () => serving.stop(),
  };
}

import { formOf } from '../../src/contracts/form.ts';
import type { Route } from '../../src/serve/http/route.ts';
import { serve, type ServeOptions } from '../../src/serve/serve.ts';

/** A real server on a free port of this machine. */
export interface ServedProject {
  readonly origin: string;
  /** The secret of the person who started the server. */
  readonly secret: string;
  /** Asks with the secret. Other headers may be given, or `authorization` without a value. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** Asks, and expects JSON. */
  json(path: string, init?: RequestInit): Promise<{ readonly status: number; readonly body: unknown }>;
  /** The lines of the server's log so far. */
  readonly log: readonly string[];
  stop(): Promise<void>;
}

/** Serves a project until it is stopped, for servers that several tests share. */
export async function servedUntilStopped(cwd: string, options: Partial<ServeOptions> = {}): Promise<ServedProject> {
  const log: string[] = [];
  const serving = await serve({
    cwd,
    host: '127.0.0.1',
    port: 0,
    drainMs: 1_000,
    onLog: line => log.push(line),
    ...options,
  });
  const { origin, hash } = new URL(serving.address);
  const secret = new URLSearchParams(hash.slice(1)).get('secret') ?? '';
  const ask: ServedProject['ask'] = (path, init = {}) => {
    const headers = new Headers(init.headers);
    if (!headers.has('authorization')) headers.set('authorization', `Bearer ${secret}`);
    return fetch(`${origin}${path}`, { redirect: 'manual', ...init, headers });
  };
  return {
    origin,
    secret,
    ask,
    json: async (path, init) => {
      const response = await ask(path, init);
      return { status: response.status, body: (await response.json()) as unknown };
    },
    log,
    stop: () => serving.stop(),
  };
}

/** How an answer differs from the shape that its route declares: wrong values, and keys that the shape does not name. */
export function misfits(route: Pick<Route, 'gives'>, answer: unknown): string[] {
  if ('media' in route.gives) throw new Error('The route gives no JSON.');
  const form = formOf(route.gives);
  return [
    ...[...form.faults(answer, '')].map(({ path, message }) => `${path} ${message}`),
    ...[...form.unknown(answer, '')].map(({ parent, key }) => `${parent} has the key ${key}`),
  ];
}

import { request, type IncomingHttpHeaders } from 'node:http';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { type ServeOptions, type Serving, serve } from '../../../src/serve/serve.ts';

/** A project folder with an empty Proctor home. */
export function newProject(): string {
  const project = mkdtempSync(path.join(tmpdir(), 'proctor-serve-'));
  onTestFinished(() => rmSync(project, { recursive: true, force: true }));
  mkdirSync(path.join(project, '.proctor'), { mode: 0o700 });
  return project;
}

export interface World extends Serving {
  readonly cwd: string;
  readonly port: number;
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string;
  readonly secret: string;
  /** The lines of the server's log so far. */
  readonly log: readonly string[];
}

/** A real server on a free port of loopback. */
export async function world(options: Partial<ServeOptions> = {}): Promise<World> {
  const cwd = options.cwd ?? newProject();
  let port = 0;
  const log: string[] = [];
  const onLog = (line: string): void => {
    log.push(line);
    const noted = JSON.parse(line) as { event: string; port?: number };
    if (noted.event === 'listening') port = noted.port ?? 0;
  };
  const serving = await serve({ host: '127.0.0.1', port: 0, drainMs: 100, onLog, ...options, cwd });
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (!isStopped) await serving.stop();
    isStopped = true;
  };
  onTestFinished(stop);
  const secret = /#secret=(.*)$/.exec(serving.address)?.[1] ?? '';
  return { ...serving, stop, cwd, port, origin: `http://127.0.0.1:${port}`, secret, log };
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The code of a refusal. */
  readonly code: string | undefined;
  readonly value: Record<string, unknown>;
}

/** Sends a request with exactly these headers, also those that fetch would not send. */
export async function send(
  { port }: { readonly port: number },
  method: string,
  target: string,
  headers: readonly (readonly [string, string])[] = [],
  body?: unknown,
): Promise<Answer> {
  const hasHost = headers.some(([name]) => name.toLowerCase() === 'host');
  const json = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const all = [
    ...(hasHost ? [] : [['Host', `127.0.0.1:${port}`] as const]),
    ...(json === undefined ? [] : [['Content-Length', String(Buffer.byteLength(json))] as const]),
    ...(typeof body === 'object' ? [['Content-Type', 'application/json'] as const] : []),
    ...headers,
  ].flat();
  return new Promise((resolve, reject) => {
    const asked = request({
      host: '127.0.0.1',
      port,
      method,
      path: target,
      headers: all,
      setHost: false,
      agent: false,
    });
    asked.on('error', reject);
    asked.on('response', response => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(pieces).toString();
        const value = (text.startsWith('{') ? JSON.parse(text) : {}) as Record<string, unknown>;
        const code = (value['error'] as { code?: string } | undefined)?.code;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, code, value });
      });
    });
    asked.end(json);
  });
}

/** The name and value of a cookie that an answer sets. */
export function cookieOf({ headers }: Answer, part = 'session'): string {
  const line = headers['set-cookie']?.find(text => text.includes(`proctor_${part}`)) ?? '';
  return line.split(';')[0] ?? '';
}

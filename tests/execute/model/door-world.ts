import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { openRecording } from '../../../src/execute/model/recording.ts';
import { type Door, type DoorMode, type DoorOptions, openDoor } from '../../../src/execute/model/door.ts';
import type { RecordingHeader } from '../../../src/execute/model/recorder.ts';
import { temporaryFolder } from '../../support/support.ts';

export const KEY = 'k-real-0123456789-never-seen-inside';

export const HEADER: RecordingHeader = {
  agent_family: 'claude_cli',
  agent_version: '2.1.325',
  created_at: '2026-04-03T10:15:00.000Z',
  task_sha256: `sha256:${'0'.repeat(64)}`,
  session_id: '6f1c2b34-5d6e-4f70-8a91-b2c3d4e5f607',
};

/** A request that the fake API received. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface FakeApi {
  readonly url: string;
  readonly seen: Seen[];
  close(): void;
}

/** A fake model API on a real socket. */
export async function fakeApi(answer: (seen: Seen, response: ServerResponse) => void): Promise<FakeApi> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
      seen.push(one);
      answer(one, response);
    });
  });
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()));
  onTestFinished(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, close };
}

/** Sends all events of a stream at once. */
export function events(response: ServerResponse, ...texts: string[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'set-cookie': 'a=b', 'request-id': 'r1' });
  for (const text of texts) response.write(`data: ${text}\n\n`);
  response.end();
}

/** A model proxy on a socket in its own folder, closed at the end of the test. */
export async function door(mode: DoorMode, options: Partial<DoorOptions> = {}): Promise<Door> {
  const at = { kind: 'socket', stage: temporaryFolder() } as const;
  const opened = await openDoor({ at, api: 'anthropic', network: 'deny', mode, secrets: [], ...options });
  onTestFinished(async () => {
    await opened.close().catch(() => undefined);
  });
  return opened;
}

export const upstream = (url: string) => ({ url, key: KEY, keyHeader: 'x-api-key' }) as const;

export interface Got {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** The response was interrupted. */
  readonly isCut: boolean;
}

export interface Sending {
  readonly method?: string;
  readonly path?: string;
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Called for every piece as it arrives. */
  readonly onData?: (text: string) => void;
  readonly signal?: AbortSignal;
}

/** Sends one request through a proxy, with its token. */
export function send({ socket, port, token }: Door, sending: Sending = {}): Promise<Got> {
  const { method = 'POST', path = '/v1/messages?beta=true', body = '{}', headers, onData, signal } = sending;
  return new Promise((resolve, reject) => {
    const where = socket === undefined ? { host: '127.0.0.1', port } : { socketPath: socket };
    const request = httpRequest(
      { ...where, method, path, agent: false, headers: { 'x-api-key': token, ...headers }, ...(signal && { signal }) },
      response => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (piece: string) => {
          text += piece;
          onData?.(piece);
        });
        const { statusCode: status = 0 } = response;
        response.on('error', () => undefined);
        response.on('close', () =>
          resolve({ status, headers: response.headers, body: text, isCut: !response.complete }),
        );
      },
    );
    request.on('error', reject);
    request.end(method === 'POST' ? body : undefined);
  });
}

/** Records the given requests, one after another, and returns the file. */
export async function recorded(
  api: FakeApi,
  bodies: readonly string[],
  options: Partial<DoorOptions> = {},
): Promise<string> {
  const file = path.join(temporaryFolder(), 'recording.json');
  const opened = await door({ kind: 'record', upstream: upstream(api.url), file, header: HEADER }, options);
  for (const body of bodies) await send(opened, { body });
  await opened.close();
  return file;
}

export async function replaying(file: string, options: Partial<DoorOptions> = {}): Promise<Door> {
  return door({ kind: 'replay', recording: openRecording(file, 'claude_cli') }, options);
}

export const errorIn = (body: string): string => (JSON.parse(body) as { error: { message: string } }).error.message;

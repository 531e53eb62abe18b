import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { expect, onTestFinished, test } from 'vitest';
import { appOf } from '../../../src/serve/http/app.ts';
import { Content, Streamed, type RouteContext, route } from '../../../src/serve/http/route.ts';
import type { Server } from '../../../src/serve/http/server.ts';

/** A server with a download and a live view, which answer once `before` resolves. */
async function streaming(before: (asking: RouteContext) => Promise<unknown>) {
  const streams = { opened: 0, cancelled: 0 };
  const views = { asked: 0, started: 0, watched: 0 };
  const download = route({
    name: 'download',
    method: 'GET',
    path: '/file',
    role: 'anyone',
    why: 'Downloads a file.',
    gives: { media: 'application/octet-stream' },
    act: async (_, asking) => {
      await before(asking);
      streams.opened++;
      return new Content(new ReadableStream({ cancel: () => void streams.cancelled++ }), { 'content-length': '5' });
    },
  });
  const view = route({
    name: 'view',
    method: 'GET',
    path: '/view',
    role: 'user',
    why: 'Shows what happens.',
    gives: { media: 'text/event-stream' },
    act: async (_, asking) => {
      await before(asking);
      views.asked++;
      return new Streamed(to => {
        views.started++;
        to.end();
      });
    },
  });
  const access = {
    checkHost: () => {},
    identify: async () => ({ id: 'a', name: 'a', role: 'user', via: 'token' }),
    checkRate: async () => {},
    checkOrigin: () => {},
    watch: () => {
      views.watched++;
      return () => void views.watched--;
    },
  };
  const app = appOf({ access } as unknown as Server, [download, view]);
  const http = createAdaptorServer({ fetch: app.fetch }) as HttpServer;
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(() => void http.close());
  return { port: (http.address() as AddressInfo).port, streams, views };
}

test('a HEAD request leaves no file open', async () => {
  const { port, streams } = await streaming(async () => {});
  const response = await fetch(`http://127.0.0.1:${port}/file`, { method: 'HEAD' });
  expect([response.status, response.headers.get('content-length')]).toEqual([200, '5']);
  expect(streams).toEqual({ opened: 1, cancelled: 1 });
});

test('a client that goes away before its answer leaves no file open', async () => {
  const { port, streams } = await streaming(async ({ incoming }) => gone(client, incoming));
  const client = connect(port, '127.0.0.1', () => client.write('GET /file HTTP/1.1\r\nhost: here\r\n\r\n'));
  await expect.poll(() => streams).toEqual({ opened: 1, cancelled: 1 });
});

test('a client that goes away before its live view leaves no watch behind', async () => {
  const { port, views } = await streaming(async ({ incoming }) => gone(client, incoming));
  const client = connect(port, '127.0.0.1', () => client.write('GET /view HTTP/1.1\r\nhost: here\r\n\r\n'));
  await expect.poll(() => views).toEqual({ asked: 1, started: 0, watched: 0 });
});

test('a live view that ends is no longer watched', async () => {
  const { port, views } = await streaming(async () => {});
  expect((await fetch(`http://127.0.0.1:${port}/view`)).status).toBe(200);
  await expect.poll(() => views).toEqual({ asked: 1, started: 1, watched: 0 });
});

/** Waits until the server knows that the client has left. */
async function gone(client: Socket, incoming: RouteContext['incoming']): Promise<void> {
  const closed = new Promise(resolve => (incoming as unknown as NodeJS.EventEmitter).once('close', resolve));
  client.destroy();
  await closed;
}

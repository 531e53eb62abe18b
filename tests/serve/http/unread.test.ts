import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { expect, onTestFinished, test } from 'vitest';
import { appOf } from '../../../src/serve/http/app.ts';
import { Content, type RouteContext, route } from '../../../src/serve/http/route.ts';
import type { Server } from '../../../src/serve/http/server.ts';

/** A server with one route, which answers with a stream once `before` resolves. */
async function streaming(before: (asking: RouteContext) => Promise<unknown>) {
  const streams = { opened: 0, cancelled: 0 };
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
  const access = {
    checkHost: () => {},
    identify: async () => undefined,
    checkRate: async () => {},
    checkOrigin: () => {},
  };
  const app = appOf({ access } as unknown as Server, [download]);
  const http = createAdaptorServer({ fetch: app.fetch }) as HttpServer;
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(() => void http.close());
  return { port: (http.address() as AddressInfo).port, streams };
}

test('a HEAD request leaves no file open', async () => {
  const { port, streams } = await streaming(async () => {});
  const response = await fetch(`http://127.0.0.1:${port}/file`, { method: 'HEAD' });
  expect([response.status, response.headers.get('content-length')]).toEqual([200, '5']);
  expect(streams).toEqual({ opened: 1, cancelled: 1 });
});

test('a client that goes away before its answer leaves no file open', async () => {
  const { port, streams } = await streaming(async ({ incoming }) => {
    client.destroy();
    await new Promise(resolve => (incoming as unknown as NodeJS.EventEmitter).once('close', resolve));
  });
  const client = connect(port, '127.0.0.1', () => client.write('GET /file HTTP/1.1\r\nhost: here\r\n\r\n'));
  await expect.poll(() => streams).toEqual({ opened: 1, cancelled: 1 });
});

import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ProctorClient } from '../../src/client/index.ts';
import { Agent } from '../run/suite/agent.ts';
import { orderingServer } from '../serve/orders/ordering-server.ts';
import { temporaryFolder } from '../support/support.ts';

async function listening(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const CASES = { name: 'cases.jsonl', text: '{"id":"one","input":{"user":"1"}}\n' };

describe('the client', () => {
  test('orders a suite, follows its state, lists it and fetches its pack', async () => {
    const { origin, token } = await orderingServer(temporaryFolder());
    const client = new ProctorClient(origin, { token });
    const order = { as: 'new', cases: CASES, base_url: await new Agent().start() } as const;
    const { run_id: id } = await client.startSuite(order, 'key');
    expect((await client.startSuite(order, 'key')).run_id).toBe(id);
    await expect.poll(async () => (await client.run(id)).state).toBe('finished');
    expect((await client.listRuns({ limit: 1 })).runs).toMatchObject([{ run_id: id }]);
    let bytes = 0;
    for await (const piece of (await client.pack(id)) as unknown as AsyncIterable<Uint8Array>) bytes += piece.length;
    expect(bytes % 512).toBe(0);
    expect(bytes).toBeGreaterThan(0);
  });

  test('throws the refusal of the server as a fault', async () => {
    const { origin, token } = await orderingServer(temporaryFolder());
    const client = new ProctorClient(origin, { token });
    await expect(client.run('nothing')).rejects.toMatchObject({ code: 'no_run' });
    const order = { as: 'new', cases: CASES, base_url: 'http://127.0.0.1:9', retries: 99 } as const;
    await expect(client.startSuite(order)).rejects.toMatchObject({ message: 'Retries must be from 0 to 10.' });
    const stranger = new ProctorClient(origin, { token: 'wrong' });
    await expect(stranger.run('nothing')).rejects.toMatchObject({ name: 'Fault' });
  });

  test('continues after the last event when a connection is lost, and ends with the seal', async () => {
    const asked: (string | undefined)[] = [];
    const url = await listening((request, response) => {
      asked.push(request.headers['last-event-id'] as string | undefined);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (asked.length === 1) {
        response.write(': still here\n\nevent: case\nid: 3\ndata: {"case_id":"one"}\n\nevent: case\nid: 4\nda');
        setTimeout(() => response.destroy(), 20);
      } else response.end('event: case\nid: 4\ndata: {"case_id":"two"}\n\nevent: sealed\ndata: {}\n\n');
    });
    const events = [];
    for await (const event of new ProctorClient(url, { token: 't' }).events('r1')) events.push(event);
    expect(asked).toEqual([undefined, '3']);
    expect(events).toEqual([
      { event: 'case', id: '3', data: { case_id: 'one' } },
      { event: 'case', id: '4', data: { case_id: 'two' } },
      { event: 'sealed', id: null, data: {} },
    ]);
  });

  test('follows no redirect, and does not trust another server', async () => {
    const seen: string[] = [];
    const elsewhere = await listening((request, response) => {
      seen.push(String(request.headers.authorization));
      response.end('{}');
    });
    const url = await listening((_, response) => {
      response.writeHead(302, { location: elsewhere });
      response.end();
    });
    await expect(new ProctorClient(url, { token: 't' }).run('r1')).rejects.toMatchObject({ code: 'redirected' });
    expect(seen).toEqual([]);
    const other = await listening((_, response) => {
      response.writeHead(500);
      response.end('<html>');
    });
    await expect(new ProctorClient(other, { token: 't' }).run('r1')).rejects.toMatchObject({ code: 'no_proctor' });
    await expect(new ProctorClient('http://127.0.0.1:9', { token: 't' }).run('r1')).rejects.toMatchObject({
      code: 'unreachable',
    });
  });
});

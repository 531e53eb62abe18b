import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answerPieces, answerText } from '../../src/base/answer-body.ts';

const server = createServer((request, response) => {
  response.writeHead(200);
  ANSWERS[request.url ?? '']?.(response);
});
const closed: { resolve: () => void } = { resolve: () => undefined };
let url = '';
const ANSWERS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  '/whole': response => response.end('whole'),
  '/silent': response => {
    response.write('half');
    response.once('close', () => closed.resolve());
  },
  '/cut': response => response.write('half', () => response.destroy()),
};

beforeAll(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

describe('the body of an answer', () => {
  test('is read up to its limit', async () => {
    expect(await answerText(await fetch(`${url}/whole`), 5)).toBe('whole');
    expect(await answerText(await fetch(`${url}/whole`), 4)).toBeUndefined();
  });

  test('is given up when the server is silent, and the connection is closed', async () => {
    const isClosed = new Promise<void>(resolve => (closed.resolve = resolve));
    const response = await fetch(`${url}/silent`);
    await expect(answerText(response, 100, { quietMs: 50 })).rejects.toThrow('The server is silent.');
    await isClosed;
  });

  test('reports a lost connection as the caller says', async () => {
    const lost = new Error('lost');
    const response = await fetch(`${url}/cut`);
    const read = async (): Promise<void> => {
      for await (const piece of answerPieces(response, { faultOf: () => lost }))
        expect(Buffer.from(piece).toString()).toBe('half');
    };
    await expect(read()).rejects.toBe(lost);
  });
});

import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { freePort, isListening } from '../../../src/execute/served/ports.ts';

test('free ports are distinct, and a server can listen on each', async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, () => freePort()));
  for (let more = 0; more < 50; more++) ports.push(await freePort());
  expect(new Set(ports).size).toBe(100);
  // Connections of other programs use the ports above.
  expect(Math.max(...ports)).toBeLessThan(32_768);
  for (const port of ports) expect(await isListening({ host: '127.0.0.1', port }, never())).toBe(false);
});

test('a port is listening exactly while a server accepts connections', async () => {
  const address = { host: '127.0.0.1', port: await freePort() };
  const server = createServer().listen(address);
  onTestFinished(() => void server.close());
  await expect.poll(() => server.listening).toBe(true);
  expect(await isListening(address, never())).toBe(true);
  expect(await isListening({ ...address, host: 'localhost' }, never())).toBe(true);
  expect(await isListening(address, AbortSignal.abort())).toBe(false);
  await new Promise(resolve => server.close(resolve));
  expect(await isListening(address, never())).toBe(false);
});

const never = (): AbortSignal => new AbortController().signal;

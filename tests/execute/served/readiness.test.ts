import http from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { probesOf, type ReadyDeclaration, untilReady } from '../../../src/execute/served/readiness.ts';

const never = (): AbortSignal => new AbortController().signal;

describe('untilReady', () => {
  test('repeats the probes until all succeed, and ends each round at the first failure', async () => {
    const asked: string[] = [];
    const after = (name: string, times: number) => async () => {
      asked.push(name);
      return asked.filter(other => other === name).length > times ? undefined : `${name} is missing`;
    };
    expect(await untilReady([after('a', 2), after('b', 1)], 60_000, never())).toEqual({ is: 'ready' });
    expect(asked.join('')).toBe('aaabab');
  });

  test('reports the last reason when the time is up, after at least one probe', async () => {
    let asked = 0;
    const probe = async (): Promise<string> => `reason ${++asked}`;
    expect(await untilReady([probe], 0, never())).toEqual({ is: 'late', reason: 'reason 1' });
    const later = await untilReady([probe], 60, never());
    expect(later).toEqual({ is: 'late', reason: `reason ${asked}` });
  });

  test('stops during a pause or a probe if the agent has ended', async () => {
    const over = new AbortController();
    const failing = async (): Promise<string> => {
      setImmediate(() => over.abort());
      return 'not yet';
    };
    expect(await untilReady([failing], 600_000, over.signal)).toEqual({ is: 'over' });
    const second = new AbortController();
    const hanging = (signal: AbortSignal): Promise<string> =>
      new Promise(resolve => {
        signal.addEventListener('abort', () => resolve('aborted'));
        setImmediate(() => second.abort());
      });
    expect(await untilReady([hanging], 600_000, second.signal)).toEqual({ is: 'over' });
  });
});

describe('the request', () => {
  test.each([
    ['/', '/'],
    ['/health?a=1?b', '/health?a=1?b'],
    ['//127.0.0.2:1/x', '//127.0.0.2:1/x'],
    ['http://127.0.0.2:1/x', '/http://127.0.0.2:1/x'],
    ['/x#y z', '/x%23y%20z'],
  ])('for %j stays on the origin of the target, whatever the path of its URL is', async (path, asked) => {
    const { url, paths, address } = await server(() => 200);
    for (const base of [url, `${url}/v1?x=1`, url.replace('http', 'ws')]) {
      expect(await firstOf({ path }, base, address)).toBe(undefined);
    }
    expect(paths).toEqual([asked, asked, asked]);
  });

  test.each([
    [200, undefined, undefined],
    [299, undefined, undefined],
    [301, undefined, 'GET /x returned 301'],
    [404, undefined, 'GET /x returned 404'],
    [404, 404, undefined],
    [200, 204, 'GET /x returned 200'],
  ])('with answer %j and declared status %j gives %j', async (answer, status, reason) => {
    const { url, address } = await server(() => answer);
    expect(await firstOf({ path: '/x?key=1', ...(status !== undefined && { status }) }, url, address)).toBe(reason);
  });

  test('does not wait for the end of the body', async () => {
    const { url, address } = await server(() => 200, 'endless');
    expect(await firstOf({ path: '/' }, url, address)).toBe(undefined);
  });

  test('ends when it is aborted', async () => {
    const { url, address } = await server(() => 200, 'silent');
    const aborting = new AbortController();
    const [probe] = probesOf({ path: '/' }, url, address, () => true);
    const asked = probe?.(aborting.signal);
    aborting.abort();
    expect(await asked).toBe('GET / got no answer');
  });
});

async function firstOf(ready: ReadyDeclaration, url: string, address: { host: string; port: number }) {
  const probes = probesOf(ready, url, address, () => false);
  expect(probes).toHaveLength(1);
  return probes[0]?.(never());
}

async function server(statusOf: () => number, body: 'none' | 'endless' | 'silent' = 'none') {
  const paths: string[] = [];
  const listener = http.createServer((request, response) => {
    paths.push(request.url ?? '');
    if (body === 'silent') return;
    response.writeHead(statusOf(), { location: '/elsewhere' });
    if (body === 'endless') response.write('x');
    else response.end();
  });
  listener.listen(0, '127.0.0.1');
  onTestFinished(() => {
    listener.closeAllConnections();
    listener.close();
  });
  await expect.poll(() => listener.listening).toBe(true);
  const { port } = listener.address() as { port: number };
  return { url: `http://127.0.0.1:${port}`, paths, address: { host: '127.0.0.1', port } };
}

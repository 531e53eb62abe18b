import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Agent } from '../run/suite/agent.ts';
import { orderingServer } from '../serve/orders/ordering-server.ts';
import { Place } from '../support/runs.ts';
import { temporaryFolder } from '../support/support.ts';

function project(): Place {
  const place = new Place();
  onTestFinished(() => place.remove());
  place.file('cases.jsonl', '{"id":"one","input":{"user":"1"}}\n{"id":"two","input":{"user":"2"}}\n');
  return place;
}

test('run suite --on runs on the server, and leaves a verified run here', async () => {
  const { origin, token } = await orderingServer(temporaryFolder());
  const place = project();
  const args = ['--on', origin, '--as', 'new', '--run-id', 'r1', '--base-url', await new Agent().start()];
  const { code, stderr } = await place.start(['run', 'suite', 'cases.jsonl', ...args], { PROCTOR_TOKEN: token }).ended;
  expect([code, stderr]).toEqual([0, expect.stringContaining('2 of 2 cases')]);
  const run = path.join(place.cwd, '.proctor/runs/new/r1');
  expect(existsSync(path.join(run, 'run.json'))).toBe(true);
  expect((await place.start(['verify', run]).ended).code).toBe(0);
});

test('run suite --on in the project of the server verifies the run that is there, and refuses another one', async () => {
  const place = project();
  const { origin, token } = await orderingServer(place.cwd);
  const url = await new Agent().start();
  const ended = async (id: string) => {
    const args = ['--on', origin, '--as', 'new', '--run-id', id, '--base-url', url];
    return place.start(['run', 'suite', 'cases.jsonl', ...args], { PROCTOR_TOKEN: token }).ended;
  };
  const { code, stderr } = await ended('r1');
  expect([code, stderr]).toEqual([0, expect.stringContaining('2 of 2 cases')]);
  const home = path.join(place.cwd, '.proctor');
  expect(readdirSync(home).filter(name => name.startsWith('.fetched'))).toEqual([]);

  const elsewhere = project();
  elsewhere.file('.proctor/runs/new/r2/seal.json', '{}');
  const args = ['--on', origin, '--as', 'new', '--run-id', 'r2', '--base-url', url];
  const other = await elsewhere.start(['run', 'suite', 'cases.jsonl', ...args], { PROCTOR_TOKEN: token }).ended;
  expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('another run called r2') });
});

test('run suite --on exits with 2 if the server refuses, cannot be reached, or gets no token', async () => {
  const { origin, token } = await orderingServer(temporaryFolder());
  const place = project();
  writeFileSync(path.join(place.cwd, 'token'), `${token}\n`);
  const ended = async (...words: string[]) =>
    place.start(['run', 'suite', 'cases.jsonl', '--as', 'new', '--base-url', 'http://127.0.0.1:9', ...words]).ended;
  expect(await ended('--on', origin)).toMatchObject({ code: 2, stderr: expect.stringContaining('PROCTOR_TOKEN') });
  expect(await ended('--on', 'http://127.0.0.1:9', '--token-file', 'token')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('cannot be reached'),
  });
  expect(await ended('--on', origin, '--token-file', 'token', '--retries', '99')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Retries must be from 0 to 10.'),
  });
  expect(await ended('--on', origin, '--token-file', 'token', '--repeat', '2')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('does not take --repeat'),
  });
});

/** A proxy that refuses the first pack, as a server does that makes packs for others. */
async function busyOnce(origin: string): Promise<{ readonly url: string; readonly packs: () => number }> {
  let packs = 0;
  const proxy = createServer((asked, response) => {
    if (asked.url?.endsWith('/pack') && ++packs === 1) {
      const error = { code: 'too_many_packs', message: 'Too many packs are under way. Try again in a few seconds.' };
      response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '5' });
      response.end(JSON.stringify({ error }));
      return;
    }
    const { method, url: at = '', headers } = asked;
    const sent = request(
      new URL(at, origin),
      { method, headers: { ...headers, host: new URL(origin).host } },
      answer => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    sent.on('error', () => response.destroy());
    asked.pipe(sent);
  });
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, packs: () => packs };
}

test('run suite --on waits until the server can make its pack', async () => {
  const { origin, token } = await orderingServer(temporaryFolder());
  const { url, packs } = await busyOnce(origin);
  const place = project();
  const args = ['--on', url, '--as', 'new', '--run-id', 'r1', '--base-url', await new Agent().start()];
  const { code, stderr } = await place.start(['run', 'suite', 'cases.jsonl', ...args], { PROCTOR_TOKEN: token }).ended;
  expect([code, stderr]).toEqual([0, expect.stringContaining('2 of 2 cases')]);
  expect(packs()).toBe(2);
});

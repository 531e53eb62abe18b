import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Journal } from '../../../src/evidence/run-folder/journal.ts';
import type { RunFolder } from '../../../src/evidence/run-folder/runs.ts';
import { ownerHere } from '../../../src/run/pipeline/runner-plan.ts';
import { LiveHub } from '../../../src/serve/live/hub.ts';
import { runSuite } from '../../../src/verbs/index.ts';
import { Agent, answersWell } from '../../run/suite/agent.ts';
import { randomFrom } from '../../support/random.ts';
import { until } from '../../support/runs.ts';
import { temporaryFolder } from '../../support/support.ts';
import { serverOf, SseClient } from './sse-client.ts';

const counting = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
const linesOf = ({ events }: SseClient): unknown[] => events.flatMap(({ data }) => data['line'] ?? []);

/** A real suite in this process. */
async function suite(count: number) {
  const cwd = temporaryFolder();
  const ids = counting(count).map(number => `case-${number}`);
  const slowly: typeof answersWell = (seen, response, times) =>
    void setTimeout(() => answersWell(seen, response, times), 8);
  writeFileSync(path.join(cwd, 'cases.json'), JSON.stringify(ids.map(id => ({ id, input: { user: id } }))));
  const baseUrl = await new Agent(Object.fromEntries(ids.map(id => [id, slowly]))).start();
  let ended: Promise<unknown> = Promise.resolve();
  const at = await new Promise<RunFolder>(resolve => {
    ended = runSuite({ cases: 'cases.json', cwd, baseUrl, as: 'new', concurrency: 4, onFolder: resolve });
  });
  return { at, ended };
}

/** A run whose journal the test writes. */
function writtenRun() {
  const folder = path.join(temporaryFolder(), 'suite_20260106_120000_0123456789ab');
  mkdirSync(folder, { mode: 0o700 });
  const journal = Journal.open<object>(folder);
  onTestFinished(() => journal.close());
  journal.append({ is: 'laying', owner: ownerHere() });
  let lines = 1;
  const add = (count: number, note = ''): void => {
    for (let index = 0; index < count; index++) {
      lines++;
      const attempt = { attempt: 1, started_at: '2026-01-06T12:00:00.000Z', outcome: 'runner_error', note };
      journal.hold(JSON.stringify({ is: 'failed', id: `case-${lines}`, attempt, assets: [] }));
    }
    journal.flush();
  };
  return { at: { id: path.basename(folder), lane: 'new', folder }, add };
}

/** The open files and watches of this process in a folder. */
const openIn = (folder: string): string[] =>
  readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      const file = readlinkSync(`/proc/self/fd/${fd}`);
      return file.startsWith(folder) ? [file] : [];
    } catch {
      return [];
    }
  });

describe('a live view', () => {
  test.each([
    ['from memory', {}],
    ['from the journal, if memory is small', { ringUnits: 2_000 }],
  ])('loses and repeats nothing when viewers reconnect at random moments (%s)', async (_, limits) => {
    const { at, ended } = await suite(120);
    const hub = new LiveHub({ ...limits, frameMs: 20 });
    const { url } = await serverOf(hub, at);
    const viewer = async (seed: number): Promise<unknown[]> => {
      const random = randomFrom(seed);
      const lines: unknown[] = [];
      for (let last: string | undefined; ; ) {
        const stopAt = 1 + Math.floor(random() * 80);
        const client = new SseClient(url, last, one => one.events.length === stopAt && one.leave());
        await client.ended;
        // What arrived after the viewer left was not seen.
        const seen = client.events.slice(0, stopAt);
        lines.push(...seen.flatMap(({ data }) => data['line'] ?? []));
        last = seen.findLast(({ id }) => id !== undefined)?.id ?? last;
        if (seen.some(({ event }) => event === 'sealed')) return lines;
      }
    };
    const all = await Promise.all(counting(5).map(viewer));
    await ended;
    for (const lines of all) expect(lines).toEqual(counting(lines.length));
    // Viewers that are away during the seal get only the seal.
    expect(Math.max(...all.map(({ length }) => length))).toBeGreaterThanOrEqual(120 * 2);
    await until('everything is released', () => hub.counts.viewers === 0);
    expect(hub.counts).toEqual({ viewers: 0, runs: 0 });
    expect(openIn(at.folder)).toEqual([]);
  });

  test('sends many events in one frame', async () => {
    const { at, add } = writtenRun();
    const { url, server } = await serverOf(new LiveHub(), at);
    let writes = 0;
    server.prependListener('request', (_request, response) => {
      const write = response.write.bind(response) as (text: string) => boolean;
      response.write = ((text: string) => {
        writes++;
        return write(text);
      }) as typeof response.write;
    });
    const client = new SseClient(url);
    await until('the first event', () => client.events.length === 1);
    for (let round = 0; round < 50; round++) {
      add(20);
      await setImmediate();
    }
    await until('all events', () => client.events.length === 1_001);
    expect(linesOf(client)).toEqual(counting(1_001));
    expect(writes).toBeLessThan(50);
  });

  test('cuts off a viewer that does not read, but no other', async () => {
    const { at, add } = writtenRun();
    const hub = new LiveHub({ frameMs: 10, waitingBytesMax: 64 * 1024 });
    const { url } = await serverOf(hub, at);
    const reader = new SseClient(url);
    const deaf = connect(Number(new URL(url).port), '127.0.0.1', () => deaf.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'));
    deaf.on('error', () => undefined);
    await new Promise(resolve => deaf.once('data', resolve));
    deaf.pause();
    await until('both view', () => hub.counts.viewers === 2 && reader.events.length === 1);
    let lines = 1;
    for (; hub.counts.viewers === 2 && lines < 100_000; lines += 500) {
      add(500, 'x'.repeat(290));
      await until('the reader has them', () => reader.events.length >= lines + 500);
    }
    expect(hub.counts.viewers).toBe(1);
    expect(linesOf(reader)).toEqual(counting(lines));
    reader.leave();
    deaf.destroy();
  });

  test('cuts off a viewer that takes too long to catch up', async () => {
    const { at, add } = writtenRun();
    add(30_000, 'x'.repeat(290));
    const hub = new LiveHub({ beatMs: 20 });
    const { url } = await serverOf(hub, at);
    const deaf = connect(Number(new URL(url).port), '127.0.0.1', () => deaf.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'));
    deaf.on('error', () => undefined);
    await new Promise(resolve => deaf.once('data', resolve));
    deaf.pause();
    await until('it is cut off', () => hub.counts.viewers === 0);
    expect(openIn(at.folder).filter(file => file.includes('(deleted)'))).toEqual([]);
    deaf.destroy();
  });

  test('sends heartbeats, and releases everything when the last viewer vanishes', async () => {
    const { at } = writtenRun();
    const hub = new LiveHub({ beatMs: 10 });
    const { url } = await serverOf(hub, at);
    const before = openIn(at.folder).length;
    const clients = [new SseClient(url), new SseClient(url)];
    await until('heartbeats', () => clients.every(({ comments }) => comments > 2));
    expect(openIn(at.folder).length).toBe(before + 1);
    for (const client of clients) client.leave();
    await until('nothing is left', () => hub.counts.viewers === 0);
    expect(hub.counts).toEqual({ viewers: 0, runs: 0 });
    expect(openIn(at.folder).length).toBe(before);
  });

  test('ends when the viewer may no longer see the run', async () => {
    const { at } = writtenRun();
    const hub = new LiveHub({ beatMs: 10 });
    let isAllowed = true;
    const server = createServer((_, response) => hub.view(at, response, { isAllowed: async () => isAllowed }));
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const client = new SseClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await until('heartbeats', () => client.comments > 2);
    isAllowed = false;
    await client.ended;
    await until('it is released', () => hub.counts.runs === 0);
  });

  test('reports everything again to a viewer that has seen more than there is', async () => {
    const { at, add } = writtenRun();
    add(2);
    const { url } = await serverOf(new LiveHub(), at);
    const client = new SseClient(url, '99');
    await until('all events', () => client.events.length === 4);
    expect(client.events.map(({ event }) => event)).toEqual(['restart', 'laying', 'failed', 'failed']);
    client.leave();
  });
});

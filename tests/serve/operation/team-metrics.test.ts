/** What Prometheus learns from a real server with a queue. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { Fault } from '../../../src/base/fault.ts';
import { bytesHash } from '../../../src/base/hash.ts';
import { MemoryQueue } from '../../../src/queue/memory.ts';
import type { QueueOverview, WorkerOffer } from '../../../src/queue/queue.ts';
import { reported, request } from '../../conformance/queue.ts';
import { ROOT, temporaryFolder } from '../../support/support.ts';
import { world } from '../access/serve-world.ts';
import { workerWorld } from '../worker-world.ts';

const NOW = { waitMs: 0 };
const OFFER: WorkerOffer = { worker: 'w1', protocols: [1], needs: ['http', 'secret-kind'], slots: 4, version: '0.0.0' };

interface Measured {
  readonly text: string;
  /** The value of a line; undefined if there is none. */
  readonly value: (line: string) => number | undefined;
}

async function measured({ origin, secret }: { readonly origin: string; readonly secret: string }): Promise<Measured> {
  const response = await fetch(`${origin}/metrics`, { headers: { authorization: `Bearer ${secret}` } });
  expect(response.status).toBe(200);
  const text = await response.text();
  const lines = new Map(text.split('\n').map(line => [line.replace(/ \S+$/, ''), Number(line.replace(/^.* /, ''))]));
  return { text, value: line => lines.get(line) };
}

test('counts the attempts of its workers once, and the settlements that come too late', async () => {
  const queue = new MemoryQueue();
  const { at, worker } = await workerWorld({ queue });
  const { queue: remote } = await worker('lab-machines');
  await queue.offer([request('a'), request('b', { needs: 'secret-kind' }), request('c')]);
  const claims = await remote.claim(OFFER, 3, NOW);
  const [a, b, c] = ['a', 'b', 'c'].map(name => claims.find(({ request: { key } }) => key === `run/${name}/1`));
  if (!a || !b || !c) throw new Error('There are no claims.');
  await remote.settle([reported(a)]);
  await remote.settle([reported(a)]);
  await remote.settle([{ claim: b, end: { is: 'handed_back', why: 'No sandbox.' } }]);
  await queue.withdraw('run');
  await remote.settle([reported(c)]);
  const { value, text } = await measured(at);
  expect(value('proctor_attempts_total{kind="http",outcome="reported"}')).toBe(1);
  expect(value('proctor_attempts_total{kind="other",outcome="handed_back"}')).toBe(1);
  expect(value('proctor_late_settlements_total')).toBe(1);
  expect(value('proctor_attempt_seconds_count{kind="http"}')).toBe(1);
  expect(value('proctor_settle_seconds_count')).toBe(4);
  expect(value('proctor_claim_seconds_count')).toBeGreaterThan(0);
  expect(text).not.toMatch(/run\/|w1@|lab-machines|tok_/);
});

test('shows what waits, the workers and their slots, and nothing that is no more', async () => {
  const queue = new MemoryQueue();
  const { at, worker } = await workerWorld({ queue });
  await queue.offer([request('a'), request('b')]);
  const before = await measured(at);
  expect(before.value('proctor_queue_waiting{needs="http"}')).toBe(2);
  expect(before.value('proctor_queue_oldest_seconds{needs="http"}')).toBeGreaterThanOrEqual(0);
  expect(before.value('proctor_workers{state="busy"}')).toBe(0);
  const { queue: remote } = await worker('lab-machines');
  await remote.claim(OFFER, 2, NOW);
  // The server asks the queue at most once a second.
  await expect.poll(async () => (await measured(at)).value('proctor_slots{state="busy"}'), { timeout: 5_000 }).toBe(2);
  const after = await measured(at);
  expect(after.value('proctor_slots{state="free"}')).toBe(2);
  expect(after.value('proctor_workers{state="busy"}')).toBe(1);
  expect(after.value('proctor_queue_waiting{needs="http"}')).toBe(0);
  expect(after.value('proctor_queue_oldest_seconds{needs="http"}')).toBeUndefined();
  expect(after.value('proctor_queue_lost_last_hour')).toBe(0);
});

test('only counters have names that end with _total, as Prometheus expects', async () => {
  const { at } = await workerWorld({ queue: new MemoryQueue() });
  const types = [...(await measured(at)).text.matchAll(/^# TYPE (proctor_\S+) (\S+)$/gm)];
  expect(types.length).toBeGreaterThan(12);
  expect(types.filter(([, name = '', type]) => name.endsWith('_total') !== (type === 'counter'))).toEqual([]);
});

test('counts the bytes of blobs', async () => {
  const queue = new MemoryQueue();
  const { at, worker } = await workerWorld({ queue, store: temporaryFolder() });
  const remote = await worker('lab-machines');
  await queue.offer([request('a')]);
  await remote.queue.claim(OFFER, 1, NOW);
  const bytes = async function* () {
    yield Buffer.from('a reply');
  };
  await remote.store.put(bytesHash('a reply'), bytes(), 100);
  expect((await measured(at)).value('proctor_store_bytes_total{direction="written"}')).toBe(7);
});

/** A queue with an overview of its own. */
class ShownQueue extends MemoryQueue {
  readonly #shows: () => Promise<QueueOverview>;
  asked = 0;

  constructor(shows: () => Promise<QueueOverview>) {
    super();
    this.#shows = shows;
  }

  override overview(): Promise<QueueOverview> {
    this.asked++;
    return this.#shows();
  }
}

test('bounds the number and the length of labels from outside', async () => {
  const needs = Array.from({ length: 5_000 }, (_, index) => ({
    needs: `${index}/${'x'.repeat(290)}`,
    waiting: index === 4_999 ? 9 : 1,
    active: 0,
    oldestWaitingMs: index === 0 ? 60_000 : 1_000,
    workers: 0,
  }));
  const { text, value } = await measured(
    await world({ team: { queue: new ShownQueue(async () => ({ needs, workers: [], lostLastHour: 3 })) } }),
  );
  const lines = text.split('\n').filter(line => line.startsWith('proctor_queue_waiting{'));
  expect(lines).toHaveLength(51);
  expect(Math.max(...lines.map(line => line.length))).toBeLessThan(150);
  expect(lines.reduce((sum, line) => sum + Number(line.replace(/^.* /, '')), 0)).toBe(5_008);
  expect(value('proctor_queue_lost_last_hour')).toBe(3);
});

test.each([
  ['refuses', () => Promise.reject(new Fault('queue_unavailable', 'The queue cannot be reached.'))],
  ['does not answer', () => new Promise<never>(() => {})],
])('answers while the database %s, without values that it does not know', async (_, shows) => {
  const queue = new ShownQueue(shows);
  const at = await world({ team: { queue } });
  const [{ value, text }] = await Promise.all([measured(at), measured(at), measured(at)]);
  expect(value('proctor_queue_reachable')).toBe(0);
  expect(value('proctor_queue_lost_last_hour')).toBeUndefined();
  expect(text).not.toMatch(/^proctor_(?:slots|workers|queue_waiting)\{/m);
  expect(value('proctor_viewers')).toBe(0);
  expect(queue.asked).toBe(1);
});

test('a server without a queue has no metrics of one', async () => {
  const { text, value } = await measured(await world());
  expect(text).not.toMatch(/proctor_(?:queue|slots|workers|attempt|claim)/);
  for (const kind of ['suite', 'intent', 'script'])
    expect(value(`proctor_orders{kind="${kind}",state="running"}`)).toBe(0);
  expect(value('proctor_run_folders')).toBe(0);
});

test('the documentation names every metric and its type, and no other', async () => {
  const { text } = await measured(await world({ team: { queue: new MemoryQueue() } }));
  const shown = [...text.matchAll(/^# TYPE (proctor_\w+) (\w+)$/gm)].map(([, name, type]) => `${name} ${type}`);
  const docs = readFileSync(path.join(ROOT, 'docs', 'serve.md'), 'utf8');
  const written = [...docs.matchAll(/^\| `(proctor_\w+)` \| (\w+) \|/gm)].map(([, name, type]) => `${name} ${type}`);
  expect(shown.length).toBeGreaterThan(15);
  expect(written.sort()).toEqual(shown.sort());
});

test('names and types follow the conventions of Prometheus', async () => {
  const { text } = await measured(await world({ team: { queue: new MemoryQueue() } }));
  const shown = [...text.matchAll(/^# TYPE (proctor_\w+) (\w+)$/gm)];
  for (const [, name = '', type] of shown) {
    expect(text).toContain(`# HELP ${name} `);
    expect(name.endsWith('_total'), name).toBe(type === 'counter');
    if (type === 'histogram') expect(name).toMatch(/_seconds$/);
    expect(name).not.toMatch(/_(?:ms|milliseconds|minutes|kb|mb|count|sum|bucket|info)$/);
  }
});

import { expect, test } from 'vitest';
import { Fault } from '../../../src/base/fault.ts';
import { ProctorClient } from '../../../src/client/index.ts';
import { MemoryQueue } from '../../../src/queue/memory.ts';
import type { QueueOverview } from '../../../src/queue/queue.ts';
import { showQueueRoute } from '../../../src/serve/routes/queue.ts';
import { reported, request } from '../../conformance/queue.ts';
import { misfits } from '../../support/serve.ts';
import { world } from '../access/serve-world.ts';

const NOW = { waitMs: 0 };
const WORKER = { worker: 'w1', protocols: [1], needs: ['http'], slots: 8, version: '0.2.0' };

async function asked(queue: MemoryQueue) {
  const { origin, secret } = await world({ team: { queue } });
  return new ProctorClient(origin, { token: secret });
}

test('shows what waits longest first, what is active, and the workers, with totals', async () => {
  const queue = new MemoryQueue();
  await queue.offer([request('a'), request('b'), request('c', { needs: 'agent/claude' })]);
  await queue.claim(WORKER, 1, NOW);
  const shown = await (await asked(queue)).queue();
  expect(misfits(showQueueRoute, shown)).toEqual([]);
  expect(shown).toMatchObject({
    needs: expect.arrayContaining([
      { needs: 'http', waiting: 1, active: 1, workers: 1, oldest_waiting_ms: expect.any(Number) as number },
      { needs: 'agent/claude', waiting: 1, active: 0, workers: 0, oldest_waiting_ms: expect.any(Number) as number },
    ]) as object[],
    workers: [{ worker: 'w1', slots: 8, active: 1, version: '0.2.0', last_seen_ms: expect.any(Number) as number }],
    lost_last_hour: 0,
    totals: { waiting: 2, active: 1, needs: 2, workers: 1, slots: 8, busy_slots: 1 },
  });
});

test('says null, not zero, for the age of nothing', async () => {
  const queue = new MemoryQueue();
  await queue.offer([request('a')]);
  await queue.settle((await queue.claim(WORKER, 1, NOW)).map(claim => reported(claim)));
  const shown = await (await asked(queue)).queue();
  expect(shown.needs).toMatchObject([{ needs: 'http', waiting: 0, oldest_waiting_ms: null }]);
  expect(shown.totals).toMatchObject({ waiting: 0, oldest_waiting_ms: null });
});

/** A queue to which workers have offered a great many things. */
class CrowdedQueue extends MemoryQueue {
  override async overview(): Promise<QueueOverview> {
    const names = Array.from({ length: 3_000 }, (_, index) => `n${index}`);
    return {
      needs: names.map((needs, index) => ({
        needs,
        waiting: index === 2_999 ? 1 : 0,
        active: 0,
        oldestWaitingMs: index === 2_999 ? 5_000 : null,
        workers: 1,
      })),
      workers: names.map(worker => ({ worker, slots: 2, active: 1, version: '0.2.0', lastSeenMs: -3 })),
      lostLastHour: 7,
    };
  }
}

test('limits its lists, keeps what waits, and counts every row in the totals', async () => {
  const { needs, workers, totals } = await (await asked(new CrowdedQueue())).queue();
  expect([needs.length, workers.length]).toEqual([1_000, 1_000]);
  expect(needs[0]).toMatchObject({ needs: 'n2999', waiting: 1, oldest_waiting_ms: 5_000 });
  expect(workers[0]?.last_seen_ms).toBe(0);
  expect(totals).toEqual({
    waiting: 1,
    active: 0,
    oldest_waiting_ms: 5_000,
    needs: 3_000,
    workers: 3_000,
    slots: 6_000,
    busy_slots: 3_000,
  });
});

test('refuses if the server has no queue, and names the flag', async () => {
  const { origin, secret } = await world();
  await expect(new ProctorClient(origin, { token: secret }).queue()).rejects.toMatchObject({
    code: 'no_queue',
    message: 'This server has no queue. Its operator can start it with --queue.',
  });
});

class DownQueue extends MemoryQueue {
  asked = 0;
  override async overview(): Promise<QueueOverview> {
    this.asked++;
    throw new Fault('queue_unavailable', 'The queue cannot be reached.');
  }
}

test('answers 503 while the database is down, and asks it at most once a second', async () => {
  const queue = new DownQueue();
  const { origin, secret } = await world({ team: { queue } });
  const ask = async () => fetch(`${origin}/v1/queue`, { headers: { authorization: `Bearer ${secret}` } });
  const statuses = (await Promise.all(Array.from({ length: 20 }, ask))).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([503]));
  expect(queue.asked).toBeLessThanOrEqual(2);
});

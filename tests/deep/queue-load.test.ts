/** The queue in PostgreSQL under load and crashes. The "agent" counts by itself what reaches it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { Fault } from '../../src/base/fault.ts';
import { migrateQueue } from '../../src/queue/postgres/migrate.ts';
import { openPostgresQueue } from '../../src/queue/postgres/queue.ts';
import type { AttemptClaim, AttemptRequest, Queue, WorkerOffer } from '../../src/queue/queue.ts';
import { reported, request } from '../conformance/queue.ts';
import { TestPostgres } from '../support/postgres.ts';

const NOW = { waitMs: 0 };
const WORKERS = 4;
const SLOTS = 16;

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await TestPostgres.start();
});
afterAll(() => postgres.stop());

async function migrated(): Promise<string> {
  const url = await postgres.database();
  await migrateQueue(url);
  return url;
}

async function opened(url: string): Promise<Queue> {
  const queue = await openPostgresQueue(url, { heartbeatMs: 10_000 });
  onTestFinished(() => queue.close());
  return queue;
}

function offerOf(index: number): WorkerOffer {
  return { worker: `w${index}`, protocols: [1], needs: ['http'], slots: SLOTS, version: '0.0.0' };
}

/** Claims, asks and settles until there is nothing left. Repeats what an outage interrupts, as every caller must. */
async function work(url: string, index: number, ask: (claim: AttemptClaim) => Promise<void>, left: () => number) {
  const queue = await opened(url);
  while (left() > 0) {
    const claims = await again(() => queue.claim(offerOf(index), SLOTS, { waitMs: 200 }));
    await Promise.all(claims.map(ask));
    await again(() => queue.settle(claims.map(claim => reported(claim))));
  }
}

async function again<Value>(act: () => Promise<Value>): Promise<Value> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'queue_unavailable') throw error;
      await sleep(50);
    }
  }
}

async function outcomesOf(queue: Queue, requests: readonly AttemptRequest[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const outcome of (
    await queue.outcomes(
      requests.map(({ key }) => key),
      NOW,
    )
  ).values()) {
    counts.set(outcome.is, (counts.get(outcome.is) ?? 0) + 1);
  }
  return counts;
}

test('5,000 attempts begin once each, with four workers that claim at the same time', async () => {
  const url = await migrated();
  const queue = await opened(url);
  const requests = Array.from({ length: 5000 }, (_, index) => request(`c${index}`));
  for (let at = 0; at < requests.length; at += 1000) await queue.offer(requests.slice(at, at + 1000));
  const seen = new Map<string, number>();
  const ask = async ({ request: { key } }: AttemptClaim) => void seen.set(key, (seen.get(key) ?? 0) + 1);
  await Promise.all(Array.from({ length: WORKERS }, (_, index) => work(url, index, ask, () => 5000 - seen.size)));
  expect([seen.size, [...seen.values()].filter(count => count > 1)]).toEqual([5000, []]);
  expect([...(await outcomesOf(queue, requests))]).toEqual([['reported', 5000]]);
  const [row] = await postgres.sql(
    'select count(*)::int as begun, count(distinct claim)::int as claims from proctor.begun',
    url,
  );
  expect(row).toEqual({ begun: 5000, claims: 5000 });
});

test('limits of 1, 2, 4 and 8 attempts per target are exact with four workers', async () => {
  const url = await migrated();
  const queue = await opened(url);
  const limits = [1, 2, 4, 8] as const;
  const requests = limits.flatMap(max =>
    Array.from({ length: max * 25 }, (_, index) => request(`t${max}c${index}`, { slots: { target: `t${max}`, max } })),
  );
  await queue.offer(requests);
  const busy = new Map<string, number>();
  const peaks = new Map<string, number>();
  let done = 0;
  const ask = async ({ request: { slots } }: AttemptClaim) => {
    const target = slots?.target ?? '';
    busy.set(target, (busy.get(target) ?? 0) + 1);
    peaks.set(target, Math.max(peaks.get(target) ?? 0, busy.get(target) ?? 0));
    await sleep(3);
    busy.set(target, (busy.get(target) ?? 0) - 1);
    done += 1;
  };
  await Promise.all(Array.from({ length: WORKERS }, (_, index) => work(url, index, ask, () => requests.length - done)));
  expect(Object.fromEntries(peaks)).toEqual({ t1: 1, t2: 2, t4: 4, t8: 8 });
});

test('a crash of PostgreSQL loses no attempt, begins none twice, and settles each once', async () => {
  const url = await migrated();
  const queue = await opened(url);
  const requests = Array.from({ length: 1500 }, (_, index) => request(`c${index}`));
  await queue.offer(requests);
  const seen = new Map<string, number>();
  let stopped = false;
  const ask = async ({ request: { key } }: AttemptClaim) => {
    seen.set(key, (seen.get(key) ?? 0) + 1);
    await sleep(2);
  };
  const workers = Array.from({ length: 3 }, (_, index) => work(url, index, ask, () => (stopped ? 0 : 1)));
  for (const share of [300, 700, 1100]) {
    await expect.poll(() => seen.size, { interval: 5 }).toBeGreaterThan(share);
    await postgres.down('immediate');
    await postgres.up();
  }
  // A claim that was committed while its answer was lost has no worker. It is lost after a heartbeat.
  await expect
    .poll(
      async () => {
        await again(() => queue.supervise());
        const counts = await again(() => outcomesOf(queue, requests));
        return (counts.get('reported') ?? 0) + (counts.get('lost') ?? 0);
      },
      { interval: 500 },
    )
    .toBe(1500);
  stopped = true;
  await Promise.all(workers);
  const counts = await outcomesOf(queue, requests);
  expect([...seen.values()].filter(count => count > 1)).toEqual([]);
  // What the agent saw is recorded, and what it did not see was never made.
  expect(counts.get('reported')).toBe(seen.size);
});

test('no worker is lost right after an outage of PostgreSQL, and its attempts can still be settled', async () => {
  const url = await migrated();
  const queue = await opened(url);
  await queue.offer([request('a')]);
  const claims = await queue.claim(offerOf(1), 1, NOW);
  await postgres.down('fast');
  await expect(queue.beat(claims)).rejects.toMatchObject({ code: 'queue_unavailable' });
  await postgres.up();
  await postgres.sql(`update proctor_queue.job_common set heartbeat_on = now() - interval '1 hour'`, url);
  await again(() => queue.supervise());
  expect((await queue.outcomes(['run/a/1'], NOW)).size).toBe(0);
  expect(await queue.beat(claims)).toEqual([]);
  expect(await queue.settle(claims.map(claim => reported(claim)))).toEqual(['run/a/1']);
});

test('broken connections are replaced, also the one that listens', async () => {
  const url = await migrated();
  const queue = await opened(url);
  const cut = `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
  for (const id of ['a', 'b', 'c']) {
    const waiting = again(() => queue.claim(offerOf(1), 1, { waitMs: 60_000 }));
    await postgres.sql(cut, url);
    await again(() => queue.offer([request(id)]));
    expect((await waiting).map(claim => claim.request.key)).toEqual([`run/${id}/1`]);
  }
});

test('opening waits while PostgreSQL starts, and fails in the end', async () => {
  const url = await migrated();
  await postgres.down('fast');
  await expect(openPostgresQueue(url, { openMs: 300 })).rejects.toMatchObject({ code: 'queue_unavailable' });
  const opening = opened(url);
  await postgres.up();
  expect((await (await opening).overview()).needs).toEqual([]);
});

test('a statement that cannot get its lock fails after a limit, and the queue keeps working', async () => {
  const url = await migrated();
  const queue = await opened(url);
  await queue.offer([request('a')]);
  const held = postgres.sql(
    'begin; lock table proctor.begun in access exclusive mode; select pg_sleep(8); commit',
    url,
  );
  await expect
    .poll(
      async () =>
        (await postgres.sql(`select 1 from pg_locks where mode = 'AccessExclusiveLock' and relation is not null`, url))
          .length,
    )
    .toBeGreaterThan(0);
  await expect(queue.claim(offerOf(1), 1, NOW)).rejects.toMatchObject({ code: 'queue_unavailable' });
  await held;
  expect(await queue.claim(offerOf(1), 1, NOW)).toHaveLength(1);
});

test('rows of a run are removed seven days after its seal', async () => {
  const url = await migrated();
  const queue = await openPostgresQueue(url, { graceMs: 0 });
  onTestFinished(() => queue.close());
  for (const runId of ['old', 'young', 'open']) {
    await queue.offer([request('a', { runId })]);
    await queue.settle((await queue.claim(offerOf(1), 1, NOW)).map(claim => reported(claim)));
    if (runId !== 'open') await queue.markSealed(runId);
  }
  await postgres.sql(`update proctor.run set sealed_at = now() - interval '8 days' where run_id = 'old'`, url);
  await queue.supervise();
  expect([...(await queue.outcomes(['old/a/1', 'young/a/1', 'open/a/1'], NOW)).keys()].sort()).toEqual([
    'open/a/1',
    'young/a/1',
  ]);
  const rows = await postgres.sql(
    'select run_id from proctor.run union select run_id from proctor.begun order by 1',
    url,
  );
  expect(rows).toEqual([{ run_id: 'open' }, { run_id: 'young' }]);
});

test('an attempt that waited for weeks is removed, and can be offered again', async () => {
  const url = await migrated();
  const queue = await openPostgresQueue(url, { graceMs: 0 });
  onTestFinished(() => queue.close());
  await queue.offer([request('a')]);
  await postgres.sql(
    `update proctor_queue.job_common set keep_until = now() - interval '1 second';
     update proctor_queue.queue set monitor_claim_on = null, maintain_on = null`,
    url,
  );
  await queue.supervise();
  expect(await queue.claim(offerOf(1), 1, NOW)).toEqual([]);
  await queue.offer([request('a')]);
  expect(await queue.claim(offerOf(1), 1, NOW)).toHaveLength(1);
});

/** The conformance suite over PostgreSQL. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Engine } from '../../src/queue/postgres/engine.ts';
import { migrateQueue } from '../../src/queue/postgres/migrate.ts';
import { openPostgresQueue } from '../../src/queue/postgres/queue.ts';
import { HEARTBEAT_MS, queueConformance, reported, request } from '../conformance/queue.ts';
import { TestPostgres } from '../support/postgres.ts';
import { ageQueue, emptyQueue } from './queue-tables.ts';

let postgres: TestPostgres;
let url: string;
beforeAll(async () => {
  postgres = await TestPostgres.start();
  url = await postgres.database();
  await migrateQueue(url);
});
afterAll(() => postgres.stop());

queueConformance('postgres', async () => {
  await emptyQueue(postgres, url);
  const queue = await openPostgresQueue(url, { heartbeatMs: HEARTBEAT_MS, graceMs: 0 });
  return { queue, age: ms => ageQueue(postgres, url, ms) };
});

const WORKER = { worker: 'w1', protocols: [1], needs: ['http'], slots: 8, version: '0.0.0' };

test.each([
  ['no request', '{"run_id":"run"}'],
  ['a request of another run', '{"run_id":"other","request":{"key":"run/a/1","runId":"run"}}'],
  ['no object', '[]'],
])('removes a row with %s from the queue, and delivers the rows beside it', async (_, data) => {
  await postgres.sql('truncate proctor.run, proctor.begun, proctor.outcome, proctor_queue.job_common', url);
  const queue = await openPostgresQueue(url, { heartbeatMs: HEARTBEAT_MS });
  try {
    await queue.offer([request('a')]);
    await postgres.sql(`update proctor_queue.job_common set data = '${data}'`, url);
    await queue.offer([request('b')]);
    const claims = await queue.claim(WORKER, 8, { waitMs: 0 });
    expect(claims.map(({ request: { key } }) => key)).toEqual(['run/b/1']);
    const { needs } = await queue.overview();
    expect(needs).toEqual([expect.objectContaining({ needs: 'http', waiting: 0, active: 1 })]);
  } finally {
    await queue.close();
  }
});

const SCRIPTS = { ...WORKER, needs: ['script'], scripts: { digests: [], isAny: true, network: 'blocked' } as const };
const OPEN = { needs: 'script', script: { sha256: `sha256:${'0'.repeat(64)}`, network: 'open' } as const };

test('removes a script whose row does not say which script it is, and delivers the rows beside it', async () => {
  await postgres.sql('truncate proctor.run, proctor.begun, proctor.outcome, proctor_queue.job_common', url);
  const queue = await openPostgresQueue(url, { heartbeatMs: HEARTBEAT_MS });
  try {
    await queue.offer([request('a', OPEN)]);
    await postgres.sql('update proctor_queue.job_common set group_id = null', url);
    await queue.offer([request('b', { needs: 'script' })]);
    const claims = await queue.claim(SCRIPTS, 8, { waitMs: 0 });
    expect(claims.map(({ request: { key } }) => key)).toEqual(['run/b/1']);
    const { needs } = await queue.overview();
    expect(needs).toEqual([expect.objectContaining({ waiting: 0, active: 1 })]);
  } finally {
    await queue.close();
  }
});

test('takes no script that is offered while a worker claims which does not allow it, and no fault follows', async () => {
  await postgres.sql('truncate proctor.run, proctor.begun, proctor.outcome, proctor_queue.job_common', url);
  const [queue, other] = await Promise.all([1, 2].map(() => openPostgresQueue(url, { heartbeatMs: HEARTBEAT_MS })));
  const fetch = vi.spyOn(Engine.prototype, 'fetch');
  try {
    await queue?.offer([request('a', { needs: 'script' })]);
    fetch.mockImplementationOnce(async function (this: Engine, ...given) {
      await other?.offer([request('b', { ...OPEN, priority: 10 })]);
      return this.fetch(...given);
    });
    const claims = await queue?.claim(SCRIPTS, 8, { waitMs: 0 });
    expect(claims?.map(({ request: { key } }) => key)).toEqual(['run/a/1']);
    expect((await other?.overview())?.needs.map(({ waiting }) => waiting)).toContain(1);
  } finally {
    fetch.mockRestore();
    await Promise.all([queue?.close(), other?.close()]);
  }
});

test('a job that ended is gone, and one that comes back neither begins again nor changes the outcome', async () => {
  const jobs = 'select id, state from proctor_queue.job_common';
  const queue = await openPostgresQueue(url, { heartbeatMs: HEARTBEAT_MS });
  try {
    await postgres.sql('truncate proctor.run, proctor.begun, proctor.outcome, proctor_queue.job_common', url);
    await queue.offer([request('a')]);
    await postgres.sql('create table kept as select * from proctor_queue.job_common', url);
    const claims = await queue.claim(WORKER, 8, { waitMs: 0 });
    expect(await queue.settle(claims.map(claim => reported(claim)))).toEqual(['run/a/1']);
    expect(await postgres.sql(jobs, url)).toEqual([]);
    // An offer that saw the attempt before it began may insert its job after it ended.
    await postgres.sql('insert into proctor_queue.job_common select * from kept', url);
    expect(await queue.claim(WORKER, 8, { waitMs: 0 })).toEqual([]);
    expect(await postgres.sql(jobs, url)).toEqual([]);
    const outcomes = await queue.outcomes(['run/a/1'], { waitMs: 0 });
    expect(outcomes.get('run/a/1')).toMatchObject({ is: 'reported', report: 'report of run/a/1' });
  } finally {
    await postgres.sql('drop table if exists kept', url);
    await queue.close();
  }
});

test('attempts are found by index, whatever the statistics say', async () => {
  const own = await postgres.database();
  await migrateQueue(own);
  const counted = (): Promise<{ relname: string; seq_scan: number; idx_scan: number }[]> =>
    postgres.sql(
      `select relname, seq_scan::int, idx_scan::int from pg_stat_user_tables
        where relname in ('begun', 'outcome', 'job_common') order by relname`,
      own,
    );
  await postgres.sql('analyze proctor.begun, proctor.outcome, proctor_queue.job_common', own);
  // Building an index reads the table.
  const before = await counted();
  const queue = await openPostgresQueue(own, { heartbeatMs: HEARTBEAT_MS });
  // More rounds than a statement needs to be prepared. The statistics say that the tables are empty.
  for (let round = 0; round < 10; round++) {
    const requests = Array.from({ length: 20 }, (_, index) => request(`c${index}`, { runId: `run${round}` }));
    await queue.offer(requests);
    const claims = await queue.claim(WORKER, 20, { waitMs: 0 });
    expect(claims).toHaveLength(20);
    expect(await queue.beat(claims)).toEqual([]);
    await queue.settle(claims.map(claim => reported(claim)));
    const keys = requests.map(({ key }) => key);
    expect((await queue.outcomes(keys, { waitMs: 0 })).size).toBe(20);
  }
  // A connection reports what it counted when it ends.
  await queue.close();
  await expect.poll(async () => (await counted()).every(row => row.idx_scan >= 10)).toBe(true);
  const scans = (rows: readonly { relname: string; seq_scan: number }[]) =>
    rows.map(({ relname, seq_scan }) => [relname, seq_scan]);
  expect(scans(await counted())).toEqual(scans(before));
});

test('workers that go on asking stay in the overview', async () => {
  const queue = await openPostgresQueue(url, { heartbeatMs: HEARTBEAT_MS });
  const workers = ['w1', 'w2'];
  const seen = () =>
    postgres.sql<{ worker: string; seen: string }>(
      `select worker, seen_at::text as seen from proctor.worker where worker in ('w1', 'w2') order by worker`,
      url,
    );
  const ask = () => Promise.all(workers.map(worker => queue.claim({ ...WORKER, worker }, 1, { waitMs: 0 })));
  try {
    await postgres.sql('truncate proctor.worker', url);
    await ask();
    const before = await seen();
    expect(before.map(({ worker }) => worker)).toEqual(workers);
    const areLater = async (): Promise<boolean> => {
      await ask();
      return (await seen()).every(({ seen: now }, index) => now > (before[index]?.seen ?? ''));
    };
    await expect.poll(areLater, { interval: 500, timeout: 60_000 }).toBe(true);
  } finally {
    await queue.close();
  }
});

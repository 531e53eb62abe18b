/** The conformance suite over PostgreSQL. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrateQueue } from '../../src/queue/postgres/migrate.ts';
import { openPostgresQueue } from '../../src/queue/postgres/queue.ts';
import { HEARTBEAT_MS, queueConformance, request } from '../conformance/queue.ts';
import { TestPostgres } from '../support/postgres.ts';

let postgres: TestPostgres;
let url: string;
beforeAll(async () => {
  postgres = await TestPostgres.start();
  url = await postgres.database();
  await migrateQueue(url);
});
afterAll(() => postgres.stop());

queueConformance('postgres', async () => {
  await postgres.sql(
    'truncate proctor.run, proctor.begun, proctor.outcome, proctor.worker, proctor_queue.job_common, proctor_queue.job_dependency',
    url,
  );
  const queue = await openPostgresQueue(url, { heartbeatMs: HEARTBEAT_MS, graceMs: 0 });
  return {
    queue,
    // Only the clock of PostgreSQL counts, so its past is moved instead. pg-boss looks once a second.
    age: async ms => {
      const by = `interval '${ms} milliseconds'`;
      await postgres.sql(
        `update proctor_queue.job_common set heartbeat_on = heartbeat_on - ${by}, started_on = started_on - ${by};
         update proctor.worker set seen_at = seen_at - ${by};
         update proctor_queue.queue set monitor_claim_on = now() - interval '1 minute'`,
        url,
      );
    },
  };
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

/** The conformance suite over PostgreSQL. */
import { afterAll, beforeAll } from 'vitest';
import { migrateQueue } from '../../src/queue/postgres/migrate.ts';
import { openPostgresQueue } from '../../src/queue/postgres/queue.ts';
import { HEARTBEAT_MS, queueConformance } from '../conformance/queue.ts';
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

import type { TestPostgres } from '../support/postgres.ts';

/** Empties the queue of a database. */
export async function emptyQueue(postgres: TestPostgres, url: string): Promise<void> {
  await postgres.sql(
    'truncate proctor.run, proctor.begun, proctor.outcome, proctor.worker, proctor_queue.job_common, proctor_queue.job_dependency',
    url,
  );
}

/** Only the clock of PostgreSQL counts, so this moves its past. pg-boss looks once a second. */
export async function ageQueue(postgres: TestPostgres, url: string, ms: number): Promise<void> {
  const by = `interval '${ms} milliseconds'`;
  await postgres.sql(
    `update proctor_queue.job_common set heartbeat_on = heartbeat_on - ${by}, started_on = started_on - ${by};
     update proctor.worker set seen_at = seen_at - ${by};
     update proctor.run set offered_at = offered_at - ${by}, sealed_at = sealed_at - ${by};
     update proctor_queue.queue set monitor_claim_on = now() - interval '1 minute'`,
    url,
  );
}

import type { Database, Session } from './database.ts';
import type { Engine } from './engine.ts';
import { notify } from './news.ts';
import { groups } from './offer.ts';

/** Cancels the unfinished jobs of a run. Attempts that have begun get an outcome; the others can be offered again. */
export async function withdraw(database: Database, engine: Engine, runId: string): Promise<void> {
  await database.transaction(async session => {
    for (const [queue, jobs] of groups(await unfinished(session, runId), ({ name }) => name)) {
      const ids = await engine.cancel(
        queue,
        jobs.map(({ id }) => id),
        session,
      );
      const begun = new Set(await storeWithdrawn(session, runId, ids));
      const waiting = ids.filter(id => !begun.has(id));
      if (waiting.length > 0) await engine.remove(queue, waiting, session);
    }
    await notify(session, { is: 'withdrawn', run_id: runId });
  });
}

interface JobName extends Record<string, unknown> {
  readonly name: string;
  readonly id: string;
}

async function unfinished(session: Session, runId: string): Promise<readonly JobName[]> {
  return session.rows<JobName>(
    `select name, id::text from proctor_queue.job_common
      where state < 'active' and data ->> 'run_id' = $1
     union all
     select j.name, j.id::text from proctor.begun b
       join proctor_queue.job_common j on j.name = b.queue and j.id = b.job
      where b.run_id = $1 and j.state = 'active'`,
    [runId],
  );
}

/** Returns the ids of the jobs that had begun, also those that began just before they were cancelled. */
async function storeWithdrawn(session: Session, runId: string, ids: readonly string[]): Promise<readonly string[]> {
  const rows = await session.rows<{ id: string }>(
    `with begun as (select * from proctor.begun where run_id = $1 and job = any($2::uuid[])),
          stored as (
            insert into proctor.outcome (key, run_id, worker, state, body, begun_at)
            select key, run_id, worker, 'withdrawn', '', at from begun on conflict (key) do nothing
          )
     select job::text as id from begun`,
    [runId, ids],
  );
  return rows.map(({ id }) => id);
}

import type { Session } from './database.ts';

/** Removes the rows of runs that were sealed 7 days ago, or last offered 90 days ago. A few thousand at a time. */
export async function forgetOldRuns(session: Session): Promise<void> {
  for (const table of ['outcome', 'begun']) {
    await session.rows(
      `delete from proctor.${table} where ctid = any(array(
         select t.ctid from proctor.${table} t join (${OLD_RUNS}) old on old.run_id = t.run_id limit ${ROWS_MAX}))`,
    );
  }
  await session.rows(
    `delete from proctor.run where run_id in (${OLD_RUNS})
        and not exists (select 1 from proctor.outcome o where o.run_id = run.run_id)
        and not exists (select 1 from proctor.begun b where b.run_id = run.run_id)`,
  );
  await session.rows(`delete from proctor.worker where seen_at < now() - interval '1 day'`);
}

const OLD_RUNS = `select run_id from proctor.run
  where sealed_at < now() - interval '7 days' or offered_at < now() - interval '90 days'`;

const ROWS_MAX = 5000;

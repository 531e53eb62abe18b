import type { AttemptEnd, AttemptOutcome } from '../queue.ts';
import type { Session } from './database.ts';

export async function storedOutcomes(
  session: Session,
  keys: readonly string[],
): Promise<ReadonlyMap<string, AttemptOutcome>> {
  const rows = await session.rows<OutcomeRow>(
    `select key, worker, state, body, (extract(epoch from begun_at) * 1000)::float8 as begun_at_ms,
            (extract(epoch from at) * 1000)::float8 as at_ms
       from proctor.outcome where key = any($1)`,
    [keys],
  );
  return new Map(
    rows.map(row => [
      row.key,
      {
        ...endOf(row),
        worker: row.worker,
        begunAtMs: Math.round(row.begun_at_ms),
        endedAtMs: Math.round(row.at_ms),
      },
    ]),
  );
}

/** When those of the keys began that have begun, and were not handed back. */
export async function begunKeys(session: Session, keys: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await session.rows<{ key: string; at_ms: number }>(
    `select b.key, (extract(epoch from b.at) * 1000)::float8 as at_ms from proctor.begun b
      where b.key = any($1) and not exists (select 1 from proctor.outcome o where o.key = b.key and o.state = 'handed_back')`,
    [keys],
  );
  return new Map(rows.map(({ key, at_ms }) => [key, Math.round(at_ms)]));
}

/**
 * Stores `lost` for attempts that began and whose job failed, because it had no heartbeat or took too long. Returns how
 * many there were.
 */
export async function storeLost(session: Session, keys: readonly string[]): Promise<number> {
  const rows = await session.rows(
    `insert into proctor.outcome (key, run_id, worker, state, body, begun_at)
     select b.key, b.run_id, b.worker, 'lost', '', b.at
       from proctor.begun b left join proctor_queue.job_common j on j.name = b.queue and j.id = b.job
      where b.key = any($1) and (j.id is null or j.state = 'failed')
        and not exists (select 1 from proctor.outcome o where o.key = b.key)
     on conflict (key) do nothing returning key`,
    [keys],
  );
  return rows.length;
}

interface OutcomeRow extends Record<string, unknown> {
  readonly key: string;
  readonly worker: string;
  readonly state: AttemptEnd['is'];
  readonly body: string;
  readonly begun_at_ms: number;
  readonly at_ms: number;
}

function endOf({ state, body }: OutcomeRow): AttemptEnd {
  if (state === 'reported') return { is: state, report: body };
  return state === 'handed_back' ? { is: state, why: body } : { is: state };
}

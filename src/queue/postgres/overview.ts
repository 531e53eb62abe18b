import type { QueueOverview, WorkerOffer } from '../queue.ts';
import type { Session } from './database.ts';
import { allowsScript, scriptIn, shownNeeds } from '../scripts.ts';
import { needsOf, protocolOf } from './names.ts';

export async function overview(session: Session): Promise<QueueOverview> {
  const jobs = await session.rows<JobsRow>(
    `select name, group_id, count(*) filter (where state < 'active')::int as waiting,
            count(*) filter (where state = 'active')::int as active,
            (extract(epoch from now() - min(created_on) filter (where state < 'active')) * 1000)::float8 as oldest_ms
       from proctor_queue.job_common where state <= 'active' group by name, group_id`,
  );
  const workers = await session.rows<WorkersRow>(
    `select w.worker, w.needs, w.protocols, w.slots, w.version, w.scripts,
            (extract(epoch from now() - w.seen_at) * 1000)::float8 as seen_ms,
            (select count(*)::int from proctor.begun b
               join proctor_queue.job_common j on j.name = b.queue and j.id = b.job
              where b.worker = w.worker and j.state = 'active' and b.at > now() - interval '25 hours') as active
       from proctor.worker w where w.seen_at > now() - interval '1 minute' order by w.worker`,
  );
  const [lost] = await session.rows<{ count: number }>(
    `select count(*)::int from proctor.outcome where state = 'lost' and at > now() - interval '1 hour'`,
  );
  return {
    needs: needsRows(jobs, workers),
    workers: workers.map(({ worker, slots, active, version, seen_ms }) => ({
      worker,
      slots,
      active,
      version,
      lastSeenMs: Math.round(seen_ms),
    })),
    lostLastHour: lost?.count ?? 0,
  };
}

/** Records that workers ask for work. */
export async function noteWorkers(session: Session, offers: readonly WorkerOffer[]): Promise<void> {
  await session.rows(
    `insert into proctor.worker (worker, needs, protocols, slots, version, scripts)
     select worker, needs, protocols, slots, version, scripts
       from json_to_recordset($1::json)
         as x (worker text, needs text[], protocols integer[], slots integer, version text, scripts jsonb)
     on conflict (worker) do update
       set needs = excluded.needs, protocols = excluded.protocols, slots = excluded.slots, version = excluded.version,
           scripts = excluded.scripts, seen_at = now()`,
    [JSON.stringify(offers)],
  );
}

/** Records that workers are alive. A worker without a free slot only beats. */
export async function renewWorkers(session: Session, workers: readonly string[]): Promise<void> {
  if (workers.length === 0) return;
  await session.rows(
    `update proctor.worker set seen_at = now() where worker = any($1) and seen_at < now() - interval '10 seconds'`,
    [workers],
  );
}

/** Several engine queues have the same needs: one per protocol, and one for limited slots. */
function needsRows(rows: readonly JobsRow[], workers: readonly WorkersRow[]): QueueOverview['needs'] {
  const jobs = rows.map(row => {
    const asked = { needs: needsOf(row.name), script: scriptIn(row.group_id ?? '') };
    return { ...row, asked, shown: shownNeeds(asked) };
  });
  const names = new Set([...jobs.map(({ shown }) => shown), ...workers.flatMap(({ needs }) => needs)]);
  return [...names].sort().map(needs => {
    const own = jobs.filter(({ shown }) => shown === needs);
    const ages = own.flatMap(({ oldest_ms }) => (oldest_ms === null ? [] : [Math.round(oldest_ms)]));
    const protocols = own.filter(({ waiting }) => waiting > 0).map(({ name }) => protocolOf(name));
    return {
      needs,
      waiting: own.reduce((sum, { waiting }) => sum + waiting, 0),
      active: own.reduce((sum, { active }) => sum + active, 0),
      oldestWaitingMs: ages.length === 0 ? null : Math.max(...ages),
      workers: workers.filter(
        worker =>
          worker.needs.includes(own[0]?.asked.needs ?? needs) &&
          own.every(({ asked }) => allowsScript(worker.scripts ?? undefined, asked)) &&
          protocols.every(one => worker.protocols.includes(one)),
      ).length,
    };
  });
}

interface JobsRow extends Record<string, unknown> {
  readonly name: string;
  readonly group_id: string | null;
  readonly waiting: number;
  readonly active: number;
  readonly oldest_ms: number | null;
}

interface WorkersRow extends Record<string, unknown> {
  readonly worker: string;
  readonly needs: readonly string[];
  readonly protocols: readonly number[];
  readonly scripts: WorkerOffer['scripts'] | null;
  readonly slots: number;
  readonly version: string;
  readonly seen_ms: number;
  readonly active: number;
}

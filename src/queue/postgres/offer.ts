import type { AttemptRequest } from '../queue.ts';
import { assertRequest } from '../requests.ts';
import { limitedTarget, scriptWord } from '../scripts.ts';
import type { Database, Session } from './database.ts';
import type { Engine, EngineJob } from './engine.ts';
import { engineQueue, jobOf } from './names.ts';
import { notify } from './news.ts';

export async function offer(
  database: Database,
  engine: Engine,
  requests: readonly AttemptRequest[],
  heartbeatMs: number,
): Promise<void> {
  for (const request of requests) assertRequest(request);
  if (requests.length === 0) return;
  const unique = [...new Map(requests.map(request => [request.key, request])).values()];
  for (const queue of new Set(unique.map(engineQueue))) await engine.create(queue);
  await database.transaction(async session => {
    const { begun, reopened } = await stateOf(session, unique);
    await noteRuns(session, unique);
    for (const [queue, own] of groups(unique, engineQueue)) {
      const back = own.filter(({ key }) => reopened.has(key)).map(({ key }) => jobOf(key));
      if (back.length > 0) await engine.remove(queue, back, session);
      const jobs = own.filter(({ key }) => !begun.has(key)).map(request => jobFor(request, heartbeatMs));
      if (jobs.length > 0) await engine.insert(queue, jobs, session);
    }
    await notify(session, { is: 'offered' });
  });
}

/** What pg-boss keeps about an attempt. The request comes back as it was given. */
export interface JobData {
  readonly run_id: string;
  readonly request: AttemptRequest;
}

function jobFor(request: AttemptRequest, heartbeatMs: number): EngineJob {
  const { key, runId, slots, priority, timeoutMs } = request;
  const group = jobGroupOf(request);
  const data: JobData = { run_id: runId, request };
  return {
    id: jobOf(key),
    data,
    priority,
    expireInSeconds: Math.ceil(timeoutMs / 1000),
    heartbeatSeconds: Math.ceil(heartbeatMs / 1000),
    retentionSeconds: WAITS_MAX_S,
    ...(group !== undefined && { group: { id: group, ...(slots && { tier: String(slots.max) }) } }),
  };
}

/** What a claim can count or leave out. */
export function jobGroupOf(request: AttemptRequest): string | undefined {
  const { notBy, script } = request;
  return limitedTarget(request) ?? notBy ?? (script && scriptWord(script));
}

/** Which of the keys have begun, and so cannot begin again; and which were handed back, and so can. */
async function stateOf(
  session: Session,
  requests: readonly AttemptRequest[],
): Promise<{ begun: ReadonlySet<string>; reopened: ReadonlySet<string> }> {
  const rows = await session.rows<{ key: string; reopened: boolean }>(
    `with back as (delete from proctor.outcome where key = any($1) and state = 'handed_back' returning key),
          gone as (delete from proctor.begun b using back where b.key = back.key)
     select b.key, back.key is not null as reopened
       from proctor.begun b left join back on back.key = b.key
      where b.key = any($1)`,
    [requests.map(({ key }) => key)],
  );
  const keys = (reopened: boolean): ReadonlySet<string> =>
    new Set(rows.filter(row => row.reopened === reopened).map(row => row.key));
  return { begun: keys(false), reopened: keys(true) };
}

/** A sealed run that is offered again, because its folder is rebuilt, is open again: the queue must not forget it meanwhile. */
async function noteRuns(session: Session, requests: readonly AttemptRequest[]): Promise<void> {
  await session.rows(
    `insert into proctor.run (run_id) select unnest($1::text[])
     on conflict (run_id) do update set offered_at = now(), sealed_at = null
      where run.offered_at < now() - interval '1 hour' or run.sealed_at is not null`,
    [[...new Set(requests.map(({ runId }) => runId))].sort()],
  );
}

export function groups<Item>(items: readonly Item[], nameOf: (item: Item) => string): Map<string, Item[]> {
  const found = new Map<string, Item[]>();
  for (const item of items) {
    const name = nameOf(item);
    const group = found.get(name);
    if (group) group.push(item);
    else found.set(name, [item]);
  }
  return found;
}

/** An attempt that waits longer is removed. A conductor that is still there offers it again every day. */
const WAITS_MAX_S = 14 * 86_400;

import type { AttemptClaim, WorkerOffer } from '../queue.ts';
import { assertRequest } from '../requests.ts';
import { type Database, ROLL_BACK, type Session } from './database.ts';
import type { Engine, FetchedJob } from './engine.ts';
import { allowsScript, scriptIn } from '../scripts.ts';
import { engineQueue, engineQueues, isLimited, jobOf, needsOf } from './names.ts';
import { jobGroupOf, type JobData } from './offer.ts';

/** Takes at most `free` attempts from the queues with the most urgent requests first. */
export async function claim(
  database: Database,
  engine: Engine,
  worker: WorkerOffer,
  free: number,
): Promise<readonly AttemptClaim[]> {
  const claims: AttemptClaim[] = [];
  for (const queue of await waitingQueues(database, worker)) {
    if (claims.length >= free) break;
    claims.push(...(await claimIn(queue, database, engine, worker, free - claims.length)));
  }
  return claims;
}

async function claimIn(
  queue: string,
  database: Database,
  engine: Engine,
  worker: WorkerOffer,
  free: number,
): Promise<readonly AttemptClaim[]> {
  for (let tries = 1; tries <= TRIES; tries++) {
    const begun = await database.transaction(session => begin(session, engine, queue, worker, free), lockFor(queue));
    if (begun !== ROLL_BACK) return begun;
  }
  return [];
}

const TRIES = 3;

/** The lock of a limited queue. pg-boss counts slots before it takes one, so concurrent claims would exceed the limit. */
function lockFor(queue: string): string {
  return isLimited(queue) ? `select pg_advisory_xact_lock(726564, hashtext('${queue}'))` : '';
}

/** One statement, so that a worker without work costs little, however many kinds of work it offers. */
async function waitingQueues(session: Session, { protocols, needs }: WorkerOffer): Promise<readonly string[]> {
  const rows = await session.rows<{ name: string }>(
    `select q.name from unnest($1::text[]) q (name)
      cross join lateral (
        select priority, created_on from proctor_queue.job_common j
         where j.name = q.name and j.state < 'active' and not j.blocked
         order by priority desc, created_on limit 1
      ) head
      order by head.priority desc, head.created_on`,
    [engineQueues(protocols, needs)],
  );
  return rows.map(({ name }) => name);
}

/**
 * Fetches jobs and notes that they have begun, in one transaction: either both happen, or neither. Takes nothing if a script
 * that this worker does not allow was offered while it claimed.
 */
async function begin(
  session: Session,
  engine: Engine,
  queue: string,
  { worker, keyId, scripts }: WorkerOffer,
  count: number,
): Promise<readonly AttemptClaim[] | typeof ROLL_BACK> {
  const except = [...(keyId === undefined ? [] : [keyId]), ...(await refusedGroups(session, queue, scripts))];
  const fetched = await engine.fetch<JobData>(queue, count, session, except);
  const jobs = fetched.filter(job => isSound(job, queue));
  if (jobs.some(({ data }) => !allowsScript(scripts, data.request))) return ROLL_BACK;
  // Without a key it has no outcome. Left in the queue, it would stop every worker.
  const unsound = fetched.filter(job => !jobs.includes(job)).map(({ id }) => id);
  if (unsound.length > 0) await engine.end(queue, unsound, session);
  if (jobs.length === 0) return [];
  const keys = jobs.map(({ data }) => data.request.key);
  const begun = await session.rows<{ key: string; claim: string; at_ms: number }>(
    `insert into proctor.begun (key, run_id, worker, queue, job)
     select key, run_id, $3, $4, job from unnest($1::text[], $2::text[], $5::uuid[]) as x (key, run_id, job)
     on conflict (key) do nothing
     returning key, claim, (extract(epoch from at) * 1000)::float8 as at_ms`,
    [keys, jobs.map(({ data }) => data.run_id), worker, queue, keys.map(jobOf)],
  );
  const byKey = new Map(begun.map(row => [row.key, row]));
  const again = keys.filter(key => !byKey.has(key));
  if (again.length > 0) await loseAgain(session, engine, queue, again);
  return jobs.flatMap(({ data: { request }, heartbeatMs }) => {
    const row = byKey.get(request.key);
    return row ? [{ request, worker, id: row.claim, begunAtMs: Math.round(row.at_ms), beatWithinMs: heartbeatMs }] : [];
  });
}

/** The groups that wait for a worker which allows their script. pg-boss can leave groups out, but not select them. */
async function refusedGroups(session: Session, queue: string, scripts: WorkerOffer['scripts']): Promise<string[]> {
  const needs = needsOf(queue);
  if (!scripts || !needs.startsWith('script/')) return [];
  const rows = await session.rows<{ group_id: string }>(
    `select distinct group_id from proctor_queue.job_common
      where name = $1 and state < 'active' and not blocked and group_id is not null`,
    [queue],
  );
  return rows
    .map(({ group_id: group }) => group)
    .filter(group => !allowsScript(scripts, { needs, script: scriptIn(group) }));
}

/** Whether a row is one that `offer` writes. Anyone with the password of the database can write another. */
function isSound({ id, group, data }: FetchedJob<JobData>, queue: string): boolean {
  try {
    const { request } = data;
    assertRequest(request);
    const isPlaced = jobOf(request.key) === id && engineQueue(request) === queue && jobGroupOf(request) === group;
    return data.run_id === request.runId && isPlaced;
  } catch {
    return false;
  }
}

/** These keys began before, and their worker is gone. They must not begin a second time. */
async function loseAgain(session: Session, engine: Engine, queue: string, keys: readonly string[]): Promise<void> {
  await engine.end(queue, keys.map(jobOf), session);
  await session.rows(
    `insert into proctor.outcome (key, run_id, worker, state, body, begun_at)
     select key, run_id, worker, 'lost', '', at from proctor.begun where key = any($1)
     on conflict (key) do nothing`,
    [keys],
  );
}

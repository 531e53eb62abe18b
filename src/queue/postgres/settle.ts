import type { AttemptClaim, Settlement } from '../queue.ts';
import { assertSettlement } from '../requests.ts';
import type { Database, Session } from './database.ts';
import type { Engine } from './engine.ts';
import { engineQueue, isLimited, jobOf } from './names.ts';
import { notice } from './news.ts';
import { groups } from './offer.ts';

/** Completes the jobs and stores the outcomes in one transaction. */
export async function settle(
  database: Database,
  engine: Engine,
  settlements: readonly Settlement[],
): Promise<readonly string[]> {
  for (const settlement of settlements) assertSettlement(settlement);
  // The first of two ends counts, as it does if they come one after the other.
  const firsts = settlements.toReversed().map(settlement => [settlement.claim.id, settlement] as const);
  const unique = [...new Map(firsts).values()];
  if (unique.length === 0) return [];
  return database.transaction(async session => {
    const held = await heldOf(
      session,
      unique.map(({ claim }) => claim),
    );
    const own = unique.filter(({ claim }) => held(claim));
    const taken: Settlement[] = [];
    for (const [queue, group] of groups(own, queueOf)) {
      const ids = new Set(await engine.end(queue, group.map(jobIdOf), session));
      taken.push(...group.filter(settlement => ids.has(jobIdOf(settlement))));
    }
    await store(session, taken);
    return [...taken.map(({ claim }) => claim.request.key), ...(await storedBefore(session, own, taken))];
  });
}

/** Keeps claims alive. Returns those that their worker no longer holds. */
export async function beat(
  database: Database,
  engine: Engine,
  claims: readonly AttemptClaim[],
): Promise<readonly AttemptClaim[]> {
  const held = await heldOf(database, claims);
  const own = claims.filter(held);
  const alive = new Set<string>();
  for (const [queue, group] of groups(own, ({ request }) => engineQueue(request))) {
    const ids = await engine.touch(
      queue,
      group.map(({ request }) => jobOf(request.key)),
      database,
    );
    for (const id of ids) alive.add(id);
  }
  return claims.filter(claim => !held(claim) || !alive.has(jobOf(claim.request.key)));
}

/** Whether a claim is still the current one of its key. An attempt that was handed back may have a newer one. */
async function heldOf(session: Session, claims: readonly AttemptClaim[]): Promise<(claim: AttemptClaim) => boolean> {
  if (claims.length === 0) return () => false;
  const rows = await session.rows<{ key: string; claim: string }>(
    'select key, claim from proctor.begun where key = any($1)',
    [claims.map(({ request }) => request.key)],
  );
  const current = new Map(rows.map(({ key, claim }) => [key, claim]));
  return ({ id, request }) => current.get(request.key) === id;
}

/** Also notifies, in the same round trip. */
async function store(session: Session, taken: readonly Settlement[]): Promise<void> {
  if (taken.length === 0) return;
  const freed = taken.some(settlement => isLimited(queueOf(settlement)));
  await session.rows(
    `with stored as (
     insert into proctor.outcome (key, run_id, worker, state, body, begun_at)
     select b.key, b.run_id, b.worker, x.state, x.body, b.at
       from unnest($1::text[], $2::text[], $3::text[]) as x (key, state, body)
       join proctor.begun b on b.key = x.key)
     select pg_notify($4, $5)`,
    [
      taken.map(({ claim }) => claim.request.key),
      taken.map(({ end }) => end.is),
      taken.map(({ end }) => (end.is === 'reported' ? end.report : end.why)),
      ...notice({ is: 'settled', freed }),
    ],
  );
}

/** Keys whose settlement was stored earlier: PostgreSQL committed it, and its answer was lost on the way. */
async function storedBefore(
  session: Session,
  own: readonly Settlement[],
  taken: readonly Settlement[],
): Promise<readonly string[]> {
  const open = own.filter(settlement => !taken.includes(settlement));
  if (open.length === 0) return [];
  const rows = await session.rows<{ key: string }>(
    `select o.key from unnest($1::text[], $2::text[]) as x (key, state)
       join proctor.outcome o on o.key = x.key and o.state = x.state`,
    [open.map(({ claim }) => claim.request.key), open.map(({ end }) => end.is)],
  );
  return rows.map(({ key }) => key);
}

function queueOf({ claim }: Settlement): string {
  return engineQueue(claim.request);
}

function jobIdOf({ claim }: Settlement): string {
  return jobOf(claim.request.key);
}

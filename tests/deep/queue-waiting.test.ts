/** Many workers that wait at a real server, in front of a real PostgreSQL. WAITING_WORKERS raises their number. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrateQueue } from '../../src/queue/postgres/migrate.ts';
import { openPostgresQueue } from '../../src/queue/postgres/queue.ts';
import type { AttemptClaim, Queue, WorkerOffer } from '../../src/queue/queue.ts';
import { reported, request } from '../conformance/queue.ts';
import { type RemoteWorker, workerWorld } from '../serve/worker-world.ts';
import { TestPostgres } from '../support/postgres.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await TestPostgres.start();
});
afterAll(() => postgres.stop());

const WORKERS = Number(process.env['WAITING_WORKERS'] ?? 200);
const VANISHING = Math.floor(WORKERS / 3);
const OFFER: Omit<WorkerOffer, 'worker'> = { protocols: [1], needs: ['http'], slots: 1, version: '0.0.0' };

interface Waiting {
  readonly claims: Promise<readonly AttemptClaim[]>;
  readonly remote: RemoteWorker;
  readonly vanish: () => void;
}

/** A worker that asks again, as a real one does, until it gets something or goes away. */
function waiting(remote: RemoteWorker, worker: string): Waiting {
  const gone = new AbortController();
  const ask = async (): Promise<readonly AttemptClaim[]> => {
    for (;;) {
      const claims = await remote.queue.claim({ ...OFFER, worker }, 1, { waitMs: 25_000, signal: gone.signal });
      if (claims.length > 0 || gone.signal.aborted) return claims;
    }
  };
  return { claims: ask(), remote, vanish: () => gone.abort() };
}

async function claimsOf(all: readonly Waiting[]): Promise<AttemptClaim[]> {
  const claims = await Promise.all(all.map(one => one.claims));
  expect(claims.map(({ length }) => length)).toEqual(all.map(() => 1));
  return claims.flat();
}

/** Offers again what a worker that went away hands back, as a conductor does. Ends when this many are active. */
async function untilActive(own: Queue, keys: readonly string[], active: number): Promise<void> {
  const isSettled = async (): Promise<readonly [number, number]> => {
    const outcomes = await own.outcomes(keys, { waitMs: 0 });
    const back = [...outcomes].flatMap(([key, { is }]) => (is === 'handed_back' ? [key] : []));
    await own.offer(back.map(key => request(key.split('/')[1] ?? '')));
    const row = (await own.overview()).needs.find(({ needs }) => needs === 'http');
    return [row?.active ?? 0, row?.waiting ?? 0];
  };
  await expect.poll(isSettled).toEqual([active, keys.length - active]);
}

test(`each of ${WORKERS} waiting workers gets one attempt, no two get the same, and vanished ones hold none`, async () => {
  const url = await postgres.database();
  await migrateQueue(url);
  const own = await openPostgresQueue(url);
  const { worker } = await workerWorld({ queue: await openPostgresQueue(url) });
  const remotes = await Promise.all(['w0', 'w1', 'w2', 'w3'].map(worker));
  const wait = (index: number): Waiting => waiting(remotes[index % remotes.length] as RemoteWorker, `w${index}`);
  try {
    const all = Array.from({ length: WORKERS }, (_, index) => wait(index));
    await expect.poll(async () => (await own.overview()).workers.length).toBe(WORKERS);
    const ids = Array.from({ length: WORKERS }, (_, index) => `c${index}`);
    const keys = ids.map(id => `run/${id}/1`);
    // Some go away at the moment when the work comes, so the server may already have claimed for them.
    const [vanishing, staying] = [all.slice(0, VANISHING), all.slice(VANISHING)];
    const offered = own.offer(ids.map(id => request(id)));
    for (const one of vanishing) one.vanish();
    await offered;
    const first = await claimsOf(staying);
    expect((await Promise.all(vanishing.map(one => one.claims))).flat()).toEqual([]);
    await untilActive(own, keys, staying.length);
    const rest = vanishing.map((_, index) => wait(index));
    const claims = [...first, ...(await claimsOf(rest))];
    expect(claims.map(claim => claim.request.key).sort()).toEqual(keys.toSorted());
    const byRemote = [...staying, ...rest];
    const taken = await Promise.all(
      claims.map((claim, index) => (byRemote[index] as Waiting).remote.queue.settle([reported(claim)])),
    );
    expect(taken.flat().sort()).toEqual(keys.toSorted());
    const outcomes = await own.outcomes(keys, { waitMs: 0 });
    expect([...outcomes.values()].filter(({ is }) => is === 'reported')).toHaveLength(WORKERS);
  } finally {
    await own.close();
  }
});

/**
 * Workers that are killed with -9. An attempt that had begun is made again elsewhere with the next number; one that had not
 * keeps its key. WORKER_KILLS raises the number of kills; ten seconds are the least that a heartbeat takes.
 */
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { TestPostgres } from '../support/postgres.ts';
import { type Started, until } from '../support/runs.ts';
import { answersWell } from '../run/suite/agent.ts';
import { artifactsIn, chaosWorld, expectHonest, HEARTBEAT, keysSeen } from './chaos-world.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await TestPostgres.start();
});
afterAll(() => postgres.stop());

const KILLS = Number(process.env['WORKER_KILLS'] ?? 4);
/** How many workers die at once. Each needs five of PostgreSQL's connections. */
const AT_ONCE = 4;
const rounds = Array.from({ length: Math.ceil(KILLS / AT_ONCE) }, (_, index) => index + 1);

const numberOf = (key: string): number => Number(key.split('/').at(-1));

async function killed(victims: readonly Started[]): Promise<void> {
  for (const victim of victims) victim.kill('SIGKILL');
  await Promise.all(victims.map(({ ended }) => ended));
}

/** The attempts of a case, as its artifact records them. */
function attemptsIn(folder: string, ids: readonly string[]) {
  return artifactsIn(folder, ids).map(({ attempts = [] }) => attempts);
}

test.each(rounds)('attempts of killed workers are made again elsewhere, with the next number: round %i', async () => {
  const againAtMs: number[] = [];
  const world = await chaosWorld(postgres, AT_ONCE, (seen, response, times) => {
    if (numberOf(String(seen.headers['idempotency-key'])) === 1) return;
    againAtMs.push(performance.now());
    answersWell(seen, response, times);
  });
  const { agent, ids, folder, place, env } = world;
  const victims = ids.map(() => world.worker(1));
  const running = world.conductor(['--concurrency', String(AT_ONCE), '--retries', '1', ...HEARTBEAT]);
  await until('all are under way', () => agent.seen.length === AT_ONCE);
  const survivor = world.worker(AT_ONCE);
  await until('the survivor is ready', () => survivor.stdout !== '' || survivor.stderr !== '');
  await killed(victims);
  const killedAtMs = performance.now();
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(0);
  expectHonest(agent, folder, ids);
  expect(keysSeen(agent).sort()).toEqual(ids.flatMap(id => [`r1/${id}/1`, `r1/${id}/2`]));
  const attempts = attemptsIn(folder, ids);
  for (const [first, second] of attempts) {
    expect(first?.note).toMatch(/was lost/);
    expect(second?.worker).not.toBe(first?.worker);
  }
  expect(new Set(attempts.map(([first]) => first?.worker)).size).toBe(AT_ONCE);
  expect(new Set(attempts.map(([, second]) => second?.worker)).size).toBe(1);
  expect(place.proctor(['verify', folder], { env }).code).toBe(0);
  const seconds = againAtMs.map(atMs => ((atMs - killedAtMs) / 1_000).toFixed(1));
  console.info(`made again after ${seconds.join(', ')} s; heartbeat 10 s`);
});

test.each(rounds)('attempts whose workers were killed before they began keep their key: round %i', async () => {
  const world = await chaosWorld(postgres, AT_ONCE, answersWell);
  const { agent, ids, folder, url, place, env } = world;
  const running = world.conductor(['--concurrency', String(AT_ONCE), ...HEARTBEAT]);
  const waiting = `select 1 from proctor_queue.job_common where state < 'active'`;
  await expect.poll(async () => (await postgres.sql(waiting, url)).length).toBe(AT_ONCE);
  const lock = new pg.Client({ connectionString: url });
  await lock.connect();
  onTestFinished(() => lock.end());
  // A claim first takes the attempt, and then notes that it began. It waits between the two.
  await lock.query('begin; lock table proctor.begun in share mode');
  const victims = ids.map(() => world.worker(1));
  const halted = `select 1 from pg_locks join pg_stat_activity using (pid)
    where relation = 'proctor.begun'::regclass and not granted and query like 'insert into proctor.begun%'`;
  await expect.poll(async () => (await postgres.sql(halted, url)).length, { interval: 50 }).toBe(AT_ONCE);
  await killed(victims);
  await lock.query('rollback');
  expect(agent.seen).toEqual([]);
  world.worker(AT_ONCE);
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(0);
  expect(keysSeen(agent).sort()).toEqual(ids.map(id => `r1/${id}/1`));
  const attempts = attemptsIn(folder, ids);
  expect(attempts.map(({ length }) => length)).toEqual(ids.map(() => 1));
  const [survivor] = attempts[0] ?? [];
  expect(await postgres.sql('select distinct worker from proctor.begun', url)).toEqual([{ worker: survivor?.worker }]);
  expect(await postgres.sql('select worker from proctor.worker', url)).toHaveLength(AT_ONCE + 1);
  expect(place.proctor(['verify', folder], { env }).code).toBe(0);
});

test('workers that start together in a new project share one key', async () => {
  const world = await chaosWorld(postgres, 1, answersWell);
  const workers = Array.from({ length: 8 }, () => world.worker(1));
  await until('all are ready', () => workers.every(({ stdout, isOver }) => stdout.includes('\n') || isOver));
  const keys = workers.map(
    ({ stdout, stderr }) => (JSON.parse(stdout.split('\n')[0] || '{}') as Ready).key_id ?? stderr,
  );
  expect(new Set(keys).size).toBe(1);
  expect(keys[0]).toMatch(/^sha256:/);
});

interface Ready {
  readonly key_id?: string;
}

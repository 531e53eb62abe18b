/**
 * Suites that workers make, with the built command line, a real agent and a real PostgreSQL, while all of them are killed.
 * The environment raises the counts: CHAOS_CASES, CHAOS_WORKER_KILLS, CHAOS_CONDUCTOR_KILLS, CHAOS_CRASHES, CHAOS_STOPS,
 * CHAOS_SLOTS, CHAOS_OUTAGE_S.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestPostgres } from '../support/postgres.ts';
import { randomFrom } from '../support/random.ts';
import { type Started, until } from '../support/runs.ts';
import { answersWell } from '../run/suite/agent.ts';
import { artifactsIn, chaosWorld, expectHonest, HEARTBEAT, keysSeen } from './chaos-world.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await TestPostgres.start();
});
afterAll(() => postgres.stop());

const count = (name: string, otherwise: number): number => Number(process.env[name] ?? otherwise);

/** Kills a process. Returns whether it was still alive. */
async function killed(victim: Started): Promise<boolean> {
  victim.kill('SIGKILL');
  return (await victim.ended).signal === 'SIGKILL';
}

/** `T` for a stopped process. */
function stateOf(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2)[0];
}

const world = (cases: number, behaviour: typeof answersWell) => chaosWorld(postgres, cases, behaviour);

test('a suite survives kills of workers and of its conductor, crashes of PostgreSQL, and stopped workers', async () => {
  const cases = count('CHAOS_CASES', 240);
  const random = randomFrom(count('PROCTOR_SEED', 20_260_511));
  const { place, agent, ids, folder, worker, conductor, resumed, env, url } = await world(
    cases,
    (seen, response, times) => {
      setTimeout(() => answersWell(seen, response, times), 100 + 300 * random());
    },
  );
  const slots = count('CHAOS_SLOTS', 8);
  const workers = [worker(slots), worker(slots), worker(slots)];
  const events = [
    ...Array.from({ length: count('CHAOS_WORKER_KILLS', 5) }, () => 'worker' as const),
    ...Array.from({ length: count('CHAOS_CONDUCTOR_KILLS', 2) }, () => 'conductor' as const),
    ...Array.from({ length: count('CHAOS_CRASHES', 1) }, () => 'crash' as const),
    ...Array.from({ length: count('CHAOS_STOPS', 1) }, () => 'stop' as const),
  ]
    .map(is => ({ is, at: Math.floor(cases * (0.05 + 0.85 * random())) }))
    .sort((a, b) => a.at - b.at);
  let running = conductor(['--concurrency', String(4 * slots), '--retries', '5', ...HEARTBEAT]);
  const happened = { worker: 0, conductor: 0, crash: 0, stop: 0 };
  const planned = { ...happened };
  for (const { is, at } of events) {
    planned[is]++;
    await until(`the agent saw ${at} requests`, () => agent.seen.length >= at || running.isOver, 300_000);
    expect(running.isOver, running.stderr).toBe(false);
    const index = Math.floor(random() * workers.length);
    const victim = workers[index] as Started;
    if (is === 'worker') {
      if (await killed(victim)) happened.worker++;
      workers[index] = worker(slots);
    }
    if (is === 'stop') {
      victim.kill('SIGSTOP');
      await until('the worker is stopped', () => stateOf(victim.pid) === 'T');
      happened.stop++;
      void wait(15_000).then(() => victim.kill('SIGCONT'));
    }
    if (is === 'crash') {
      const { pid } = postgres;
      await postgres.down('immediate');
      await postgres.up();
      if (postgres.pid !== pid) happened.crash++;
    }
    if (is === 'conductor') {
      if (await killed(running)) happened.conductor++;
      running = resumed();
    }
  }
  expect(happened).toEqual(planned);
  const { code, stderr } = await running.ended;
  expect([0, 1], stderr).toContain(code);
  expectHonest(agent, folder, ids);
  const rows = await postgres.sql<{ key: string }>('select key from proctor.begun', url);
  const begun = new Set(rows.map(({ key }) => key));
  const others = keysSeen(agent).filter(key => !begun.has(key));
  expect(others, 'the agent saw an attempt that never began').toEqual([]);
  const lost = artifactsIn(folder, ids).flatMap(({ attempts = [] }) =>
    attempts.filter(one => /was lost/.test(one.note ?? '')),
  );
  const verified = place.proctor(['verify', folder], { env });
  expect(verified.code, verified.stdout + verified.stderr).toBe(0);
  console.info(`chaos: ${JSON.stringify({ cases, ...happened, seen: agent.seen.length, lost: lost.length })}`);
});

test('Ctrl-C withdraws the attempts, and their connections close', async () => {
  const closed = new Set<string>();
  let isHeld = true;
  const { agent, ids, folder, worker, conductor, resumed, place } = await world(8, (seen, response, times) => {
    if (!isHeld) return answersWell(seen, response, times);
    response.on('close', () => closed.add(seen.caseId));
  });
  worker(8);
  const running = conductor(['--concurrency', '8', ...HEARTBEAT]);
  await until('all are under way', () => agent.seen.length === 8, 60_000);
  running.kill('SIGINT');
  expect((await running.ended).code).toBe(130);
  await until('all connections are closed', () => closed.size === 8, 60_000);
  isHeld = false;
  expect((await resumed().ended).code).toBe(0);
  expectHonest(agent, folder, ids);
  expect(place.proctor(['verify', folder]).code).toBe(0);
});

test('a run is rebuilt from PostgreSQL alone, without a request, and rests on the keys of the workers', async () => {
  const { agent, ids, folder, worker, conductor, place } = await world(40, answersWell);
  const one = worker(8);
  expect((await conductor(['--concurrency', '16']).ended).code).toBe(0);
  one.kill('SIGTERM');
  expect(await one.ended).toMatchObject({ code: 0 });
  const asked = agent.seen.length;
  const key = place.file('worker.pub', readFileSync(path.join(place.cwd, '.proctor', 'keys', 'signing.pub')));
  rmSync(path.join(place.cwd, '.proctor'), { recursive: true });
  const refused = await conductor().ended;
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('already has attempts')]);
  expect((await conductor(['--worker-key', key]).ended).code).toBe(0);
  expect(agent.seen.length).toBe(asked);
  expectHonest(agent, folder, ids);
  expect(readdirSync(path.join(folder, 'evidence'))).toContain('seal.json');
  expect(place.proctor(['verify', folder]).code).toBe(0);
});

test('no attempt is lost while PostgreSQL is down for longer than a heartbeat', async () => {
  const held: (() => void)[] = [];
  const { agent, ids, folder, worker, conductor, place } = await world(8, (seen, response, times) => {
    held.push(() => answersWell(seen, response, times));
  });
  worker(8);
  const outageS = count('CHAOS_OUTAGE_S', 13);
  const running = conductor(['--concurrency', '8', '--timeout', `${outageS + 60}s`, ...HEARTBEAT]);
  await until('all are under way', () => agent.seen.length === 8, 60_000);
  await postgres.down('fast');
  await wait(outageS * 1_000);
  await postgres.up();
  for (const answer of held) answer();
  expect((await running.ended).code).toBe(0);
  expect(agent.seen).toHaveLength(8);
  expectHonest(agent, folder, ids);
  expect(artifactsIn(folder, ids).map(({ attempts = [] }) => attempts.length)).toEqual(ids.map(() => 1));
  expect(place.proctor(['verify', folder]).code).toBe(0);
});

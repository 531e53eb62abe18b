/**
 * Suites that workers make, with the built command line, a real agent and a real PostgreSQL, while all of them are killed.
 * The environment raises the counts: CHAOS_CASES, CHAOS_WORKER_KILLS, CHAOS_CONDUCTOR_KILLS, CHAOS_CRASHES, CHAOS_STOPS,
 * CHAOS_SLOTS.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import { TestPostgres } from '../support/postgres.ts';
import { randomFrom } from '../support/random.ts';
import { Place, type Started, until } from '../support/runs.ts';
import { Agent, answersWell } from '../run/suite/agent.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await TestPostgres.start();
});
afterAll(() => postgres.stop());

const count = (name: string, otherwise: number): number => Number(process.env[name] ?? otherwise);

const HEARTBEAT = ['--heartbeat', '10s'];

/** A suite, an agent, a queue, and workers as processes of their own. */
async function world(cases: number, behaviour: typeof answersWell) {
  const place = new Place();
  onTestFinished(() => place.remove());
  const ids = Array.from({ length: cases }, (_, index) => `case-${index}`);
  const agent = new Agent(Object.fromEntries(ids.map(id => [id, behaviour])));
  place.file('cases.jsonl', ids.map(id => `${JSON.stringify({ id, input: { user: id } })}\n`).join(''));
  const baseUrl = await agent.start();
  const url = await postgres.database();
  const env = { PROCTOR_QUEUE: url };
  expect(place.proctor(['queue', 'migrate'], { env }).code).toBe(0);
  const started = new Set<Started>();
  onTestFinished(async () => {
    for (const one of started) one.kill('SIGKILL');
    await Promise.all([...started].map(one => one.ended));
  });
  const start = (args: readonly string[]): Started => {
    const one = place.start(args, env);
    started.add(one);
    return one;
  };
  const suite = ['run', 'suite', 'cases.jsonl', '--base-url', baseUrl, '--as', 'new', '--run-id', 'r1'];
  return {
    place,
    agent,
    ids,
    env,
    url,
    folder: path.join(place.cwd, '.proctor', 'runs', 'new', 'r1'),
    worker: (slots: number) => start(['worker', '--slots', String(slots), '--drain', '5s', '--json']),
    conductor: (more: readonly string[] = []) => start([...suite, '--queue', ...more]),
    resumed: () => start(['run', 'suite', '--resume', 'r1', ...HEARTBEAT]),
  };
}

function keysSeen({ seen }: Agent): string[] {
  return seen.map(({ headers }) => String(headers['idempotency-key']));
}

function artifactsIn(folder: string, ids: readonly string[]): CaseArtifact[] {
  return ids.map(id => JSON.parse(readFileSync(path.join(folder, `${id}.json`), 'utf8')) as CaseArtifact);
}

/** Every key that the agent saw is on record, and it saw none twice. */
function expectHonest(agent: Agent, folder: string, ids: readonly string[]): void {
  const seen = keysSeen(agent);
  expect(new Set(seen).size, 'a key was sent twice').toBe(seen.length);
  const artifacts = artifactsIn(folder, ids);
  expect(artifacts).toHaveLength(ids.length);
  const recorded = new Set(artifacts.flatMap(({ attempts = [] }) => attempts.map(one => one.idempotency_key)));
  expect(
    seen.filter(key => !recorded.has(key)),
    'the agent saw a request that is not on record',
  ).toEqual([]);
}

test('a suite survives kills of workers and of its conductor, crashes of PostgreSQL, and stopped workers', async () => {
  const cases = count('CHAOS_CASES', 240);
  const random = randomFrom(count('PROCTOR_SEED', 20_260_511));
  const { place, agent, ids, folder, worker, conductor, resumed, env } = await world(cases, (seen, response, times) => {
    setTimeout(() => answersWell(seen, response, times), 100 + 300 * random());
  });
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
  const killed = { worker: 0, conductor: 0, crash: 0, stop: 0 };
  for (const { is, at } of events) {
    await until(`the agent saw ${at} requests`, () => agent.seen.length >= at || running.isOver, 300_000);
    const index = Math.floor(random() * workers.length);
    const victim = workers[index] as Started;
    if (is === 'worker') {
      victim.kill('SIGKILL');
      await victim.ended;
      workers[index] = worker(slots);
    }
    if (is === 'stop') {
      victim.kill('SIGSTOP');
      void wait(15_000).then(() => victim.kill('SIGCONT'));
    }
    if (is === 'crash') {
      await postgres.down('immediate');
      await postgres.up();
    }
    if (is === 'conductor') {
      running.kill('SIGKILL');
      await running.ended;
      if (existsSync(path.join(folder, 'evidence', 'seal.json'))) continue;
      running = resumed();
    }
    killed[is]++;
  }
  const { code, stderr } = await running.ended;
  expect([0, 1], stderr).toContain(code);
  expectHonest(agent, folder, ids);
  const lost = artifactsIn(folder, ids).flatMap(({ attempts = [] }) =>
    attempts.filter(one => /was lost/.test(one.note ?? '')),
  );
  const verified = place.proctor(['verify', folder], { env });
  expect(verified.code, verified.stdout + verified.stderr).toBe(0);
  console.info(`chaos: ${JSON.stringify({ cases, ...killed, seen: agent.seen.length, lost: lost.length })}`);
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
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('already has outcomes')]);
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
  const running = conductor(['--concurrency', '8', ...HEARTBEAT]);
  await until('all are under way', () => agent.seen.length === 8, 60_000);
  await postgres.down('fast');
  await wait(13_000);
  await postgres.up();
  for (const answer of held) answer();
  expect((await running.ended).code).toBe(0);
  expect(agent.seen).toHaveLength(8);
  expectHonest(agent, folder, ids);
  expect(artifactsIn(folder, ids).map(({ attempts = [] }) => attempts.length)).toEqual(ids.map(() => 1));
  expect(place.proctor(['verify', folder]).code).toBe(0);
});

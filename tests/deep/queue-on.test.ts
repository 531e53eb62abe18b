/** Workers without a database password: the built command line, a real agent, PostgreSQL, and a server between them. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { migrateQueue } from '../../src/queue/postgres/migrate.ts';
import { openPostgresQueue } from '../../src/queue/postgres/queue.ts';
import { HEARTBEAT_MS, queueConformance } from '../conformance/queue.ts';
import { Agent, answersWell, answerTo, json } from '../run/suite/agent.ts';
import { joined, workerWorld } from '../serve/worker-world.ts';
import { TestPostgres } from '../support/postgres.ts';
import { Place, type Started } from '../support/runs.ts';
import { ageQueue, emptyQueue } from './queue-tables.ts';

let postgres: TestPostgres;
let shared: string;
beforeAll(async () => {
  postgres = await TestPostgres.start();
  shared = await postgres.database();
  await migrateQueue(shared);
});
afterAll(() => postgres.stop());

queueConformance('remote, before PostgreSQL', async () => {
  await emptyQueue(postgres, shared);
  const own = await openPostgresQueue(shared, { heartbeatMs: HEARTBEAT_MS, graceMs: 0 });
  const { worker } = await workerWorld({ queue: await openPostgresQueue(shared, { heartbeatMs: HEARTBEAT_MS }) });
  const { queue } = await worker('w1');
  return { queue: joined(queue, own), age: ms => ageQueue(postgres, shared, ms) };
});

test('a suite is made by workers that know only the server, with large replies through its store', async () => {
  const place = new Place();
  onTestFinished(() => place.remove());
  const ids = Array.from({ length: 12 }, (_, index) => `case-${index}`);
  const large: typeof answersWell = (seen, response) =>
    json(response, answerTo(seen, { final_output: { content_type: 'text', content: 'x'.repeat(100_000) } }));
  const agent = new Agent({ ...Object.fromEntries(ids.map(id => [id, answersWell])), 'case-0': large });
  const baseUrl = await agent.start();
  onTestFinished(() => agent.stop());
  place.file('cases.jsonl', ids.map(id => `${JSON.stringify({ id, input: { user: id } })}\n`).join(''));
  const env = { PROCTOR_QUEUE: await postgres.database() };
  expect(place.proctor(['queue', 'migrate'], { env }).code).toBe(0);
  const made = place.proctor(['token', 'new', '--role', 'worker', '--name', 'workers', '--json']);
  const { token } = JSON.parse(made.stdout) as { token: string };
  const started: Started[] = [];
  onTestFinished(async () => {
    for (const one of started) one.kill('SIGKILL');
    await Promise.all(started.map(one => one.ended));
  });
  const start = (args: readonly string[], more: Record<string, string>): Started => {
    const one = place.start(args, more);
    started.push(one);
    return one;
  };
  const store = ['--store', path.join(place.cwd, 'blobs')];
  const server = start(['serve', '--listen', '127.0.0.1:0', '--json', '--queue', ...store], env);
  await expect.poll(() => server.stdout, { timeout: 20_000 }).toContain('"address"');
  const { origin } = new URL((JSON.parse(server.stdout) as { address: string }).address);
  const worker = ['worker', '--on', origin, '--slots', '3', '--drain', '5s', '--json'];
  const workers = [1, 2].map(() => start(worker, { PROCTOR_TOKEN: token, PROCTOR_QUEUE: '' }));
  const suite = ['run', 'suite', 'cases.jsonl', '--base-url', baseUrl, '--as', 'new', '--run-id', 'r1', '--queue'];
  const conductor = start([...suite, ...store], env);
  const ended = await conductor.ended;
  expect(ended.code, ended.stderr).toBe(0);
  const keys = agent.seen.map(({ headers }) => String(headers['idempotency-key']));
  expect(keys).toHaveLength(ids.length);
  expect(new Set(keys).size).toBe(ids.length);
  const folder = path.join(place.cwd, '.proctor', 'runs', 'new', 'r1');
  expect(
    readFileSync(path.join(folder, 'assets', 'outcomes.ndjson'), 'utf8')
      .trim()
      .split('\n'),
  ).toHaveLength(12);
  expect(place.proctor(['verify', folder]).code).toBe(0);
  for (const one of workers) one.kill('SIGTERM');
  expect((await Promise.all(workers.map(one => one.ended))).map(({ code }) => code)).toEqual([0, 0]);
});

test('a worker stops with exit code 2 if the server does not accept its token', async () => {
  const { at } = await workerWorld({ queue: await openPostgresQueue(shared) });
  const place = new Place();
  onTestFinished(() => place.remove());
  const wrong = place.start(['worker', '--on', at.origin], { PROCTOR_TOKEN: 'pt_wrong' });
  const { code, stderr } = await wrong.ended;
  expect(code).toBe(2);
  expect(stderr).toMatch(/^error: This token is not valid\./m);
});

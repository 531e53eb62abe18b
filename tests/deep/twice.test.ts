/** Attempts made twice: the built command line, a real agent, PostgreSQL, two honest workers, and one that lies. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { MadeTwice } from '../../src/contracts/made-twice/index.ts';
import { openPostgresQueue } from '../../src/queue/postgres/queue.ts';
import { Agent, answersWell } from '../run/suite/agent.ts';
import { lyingWorker } from '../run/suite/lying-worker.ts';
import { TestPostgres } from '../support/postgres.ts';
import { Place, type Started } from '../support/runs.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await TestPostgres.start();
});
afterAll(() => postgres.stop());

test('names the lying one of three workers, and rebuilds the same evidence without a request', async () => {
  const place = new Place();
  const ofWorkers = new Place();
  onTestFinished(() => [place, ofWorkers].forEach(one => one.remove()));
  const ids = Array.from({ length: 40 }, (_, index) => `case-${index}`);
  const agent = new Agent(Object.fromEntries(ids.map(id => [id, answersWell])));
  const baseUrl = await agent.start();
  const expected = { contains: 'You asked' };
  place.file('cases.jsonl', ids.map(id => `${JSON.stringify({ id, input: { user: id }, expected })}\n`).join(''));
  const url = await postgres.database();
  const env = { PROCTOR_QUEUE: url };
  expect(place.proctor(['queue', 'migrate'], { env }).code).toBe(0);
  const started: Started[] = [];
  onTestFinished(async () => {
    for (const one of started) one.kill('SIGKILL');
    await Promise.all(started.map(one => one.ended));
  });
  const start = (at: Place, args: readonly string[]): Started => {
    const one = at.start(args, env);
    started.push(one);
    return one;
  };
  // Workers in one folder have the same key. The first one creates it.
  for (const name of ['w1', 'w2']) {
    const one = start(ofWorkers, ['worker', '--slots', '2', '--name', name, '--drain', '5s', '--json']);
    await expect.poll(() => one.stdout + one.stderr, { timeout: 20_000 }).toContain('"key_id"');
  }
  const queue = await openPostgresQueue(url);
  onTestFinished(() => queue.close());
  const isLie = (id: unknown): boolean => Number(String(id).slice('case-'.length)) % 4 === 0;
  const liar = lyingWorker(queue, ({ version, case: { id } }) => ({
    case_id: id,
    version,
    proposed_actions: [],
    events: [],
    final_output: { content_type: 'text', content: isLie(id) ? 'All is well.' : `You asked: ${String(id)}` },
  }));

  const suite = ['run', 'suite', 'cases.jsonl', '--base-url', baseUrl, '--as', 'new', '--run-id', 'r1', '--queue'];
  const ended = await start(place, [...suite, '--twice', '1', '--concurrency', '8']).ended;
  const folder = path.join(place.cwd, '.proctor', 'runs', 'new', 'r1');
  const text = readFileSync(path.join(folder, 'evidence', 'twice.json'), 'utf8');
  const twice = JSON.parse(text) as MadeTwice;
  const lies = ids.filter(isLie);
  expect(ended.stderr).toContain(`40 of 40 attempts were made twice; ${lies.length} differ`);
  expect(ended.stderr).toContain(`Two workers disagree on the verdict of ${lies.length} cases.`);
  // Every case has an answer and there is no limit, so a difference alone does not change the exit code.
  expect(ended.code, ended.stderr).toBe(0);
  expect(twice.cases.filter(({ differs }) => differs?.includes('verdict')).map(one => one.case_id)).toEqual(lies);
  for (const { first, second } of twice.cases)
    expect([first?.worker, second?.worker].filter(worker => worker === 'liar')).toHaveLength(1);
  expect(new Set(liar.told).size).toBe(ids.length);
  const keys = agent.seen.map(({ headers }) => String(headers['idempotency-key']));
  expect(new Set(keys).size).toBe(keys.length);
  expect(keys.length).toBe(ids.length);

  const verified = place.proctor(['verify', folder]);
  expect(verified.code, verified.stdout).toBe(0);
  expect(verified.stdout).toContain(`40 of 40 attempts were made twice; ${lies.length} differ`);
  expect(place.proctor(['show', 'r1']).stdout).toContain('40 of 40 attempts were made twice');

  // The folder is lost. The same key of the conductor chooses the same cases, and the queue has all outcomes.
  const again = new Place();
  onTestFinished(() => again.remove());
  again.file('cases.jsonl', readFileSync(path.join(place.cwd, 'cases.jsonl'), 'utf8'));
  again.file('liar.pub', liar.publicPem);
  const trusted = [path.join(ofWorkers.cwd, '.proctor/keys/signing.pub'), path.join(again.cwd, 'liar.pub')];
  const rebuilt = await start(again, [
    ...suite,
    ...['--twice', '1'],
    ...trusted.flatMap(file => ['--worker-key', file]),
  ]).ended;
  expect(rebuilt.code, rebuilt.stderr).toBe(0);
  expect(agent.seen.length).toBe(keys.length);
  expect(readFileSync(path.join(again.cwd, '.proctor/runs/new/r1/evidence/twice.json'), 'utf8')).toBe(text);
});

/**
 * A suite that workers make, as processes: the built command line, a real agent, and a PostgreSQL that the test file
 * starts.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import type { TestPostgres } from '../support/postgres.ts';
import { Place, type Started } from '../support/runs.ts';
import { Agent, type answersWell } from '../run/suite/agent.ts';

/** The least that pg-boss takes. */
export const HEARTBEAT = ['--heartbeat', '10s'];

/** A suite, an agent, a queue, and workers as processes of their own. */
export async function chaosWorld(postgres: TestPostgres, cases: number, behaviour: typeof answersWell) {
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
  const suite = (id: string, more: readonly string[]): Started =>
    start(['run', 'suite', 'cases.jsonl', '--base-url', baseUrl, '--as', 'new', '--run-id', id, '--queue', ...more]);
  return {
    place,
    agent,
    ids,
    env,
    url,
    folder: path.join(place.cwd, '.proctor', 'runs', 'new', 'r1'),
    worker: (slots: number) => start(['worker', '--slots', String(slots), '--drain', '5s', '--json']),
    suite,
    conductor: (more: readonly string[] = []) => suite('r1', more),
    resumed: () => start(['run', 'suite', '--resume', 'r1', ...HEARTBEAT]),
  };
}

export function keysSeen({ seen }: Agent): string[] {
  return seen.map(({ headers }) => String(headers['idempotency-key']));
}

export function artifactsIn(folder: string, ids: readonly string[]): CaseArtifact[] {
  return ids.map(id => JSON.parse(readFileSync(path.join(folder, `${id}.json`), 'utf8')) as CaseArtifact);
}

/** Every key that the agent saw is on record, and it saw none twice. */
export function expectHonest(agent: Agent, folder: string, ids: readonly string[]): void {
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

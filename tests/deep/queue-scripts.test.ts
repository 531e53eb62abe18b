/** Suites of scripts that workers run: the built command line, real sandboxes, PostgreSQL, a store, and a server. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import { TestPostgres } from '../support/postgres.ts';
import { Place, type Started, until } from '../support/runs.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await TestPostgres.start();
});
afterAll(() => postgres.stop());

/** Answers after a moment. */
const SCRIPT = `
import json, time
question = json.load(open("input/case.json"))
time.sleep(0.5 if question["case_id"] != "slow" else 2)
print(json.dumps({"case_id": question["case_id"], "version": question["version"],
  "final_output": {"content_type": "text", "content": question["input"]["user"].upper()}}))
`;
const SHA256 = createHash('sha256').update(SCRIPT).digest('hex');

async function scriptsWorld(ids: readonly string[]) {
  const place = new Place();
  onTestFinished(() => place.remove());
  place.file('agent.py', SCRIPT, 0o755);
  place.file('cases.jsonl', ids.map(id => `${JSON.stringify({ id, input: { user: id } })}\n`).join(''));
  const env = { PROCTOR_QUEUE: await postgres.database() };
  expect(place.proctor(['queue', 'migrate'], { env }).code).toBe(0);
  const started: Started[] = [];
  onTestFinished(async () => {
    for (const one of started) one.kill('SIGKILL');
    await Promise.all(started.map(one => one.ended));
  });
  const store = ['--store', path.join(place.cwd, 'blobs')];
  /** A worker lives in a folder of its own, as on another machine. */
  const start = (args: readonly string[], at: Place = place, more: Record<string, string> = {}): Started => {
    const one = at.start(args, { ...env, ...more });
    started.push(one);
    return one;
  };
  const elsewhere = (): Place => {
    const other = new Place();
    onTestFinished(() => other.remove());
    return other;
  };
  const folder = path.join(place.cwd, '.proctor', 'runs', 'new', 'r1');
  return { place, env, store, start, elsewhere, folder, ids };
}

const artifactsIn = (folder: string, ids: readonly string[]): CaseArtifact[] =>
  ids.map(id => JSON.parse(readFileSync(path.join(folder, `${id}.json`), 'utf8')) as CaseArtifact);

const SUITE = ['run', 'suite', 'cases.jsonl', '--script', 'agent.py', '--as', 'new', '--run-id', 'r1', '--queue'];

test('a suite of scripts survives the kill of a worker, verifies, and compares as the same with one process', async () => {
  const ids = ['slow', ...Array.from({ length: 7 }, (_, index) => `case-${index}`)];
  const { place, store, start, elsewhere, folder } = await scriptsWorld(ids);
  expect(place.proctor(['keys', 'new']).code).toBe(0);
  const worker = ['worker', '--slots', '2', '--drain', '5s', '--json', '--allow-script', SHA256, ...store];
  const homes = [elsewhere(), elsewhere()] as const;
  const workers = homes.map(home => start(worker, home));
  const conductor = start([...SUITE, ...store, '--heartbeat', '10s', '--retries', '2', '--concurrency', '8']);
  await until('the slow case began', () => workers.some(one => one.stdout.includes('r1/slow/1')), 60_000);
  const victim = workers.findIndex(one => one.stdout.includes('r1/slow/1'));
  workers[victim]?.kill('SIGKILL');
  await workers[victim]?.ended;
  // The next worker in the folder removes what the dead one left.
  const again = start([...worker, '--name', 'again'], homes[victim]);
  const ended = await conductor.ended;
  expect(ended.code, ended.stderr).toBe(0);
  const artifacts = artifactsIn(folder, ids);
  expect(artifacts.map(({ final_output }) => final_output?.content)).toEqual(ids.map(id => id.toUpperCase()));
  const attempts = artifacts.find(({ case_id }) => case_id === 'slow')?.attempts;
  expect(attempts?.[0]?.note).toMatch(/was lost/);
  for (const one of [...workers, again]) one.kill('SIGTERM');
  await Promise.all([...workers, again].map(one => one.ended));
  for (const home of homes) expect(readdirSync(path.join(home.cwd, '.proctor', 'workers'))).toEqual([]);

  const ofWorkers = homes.flatMap(({ cwd }) => ['--key', path.join(cwd, '.proctor', 'keys', 'signing.pub')]);
  const keys = ['--key', path.join(place.cwd, '.proctor', 'keys', 'signing.pub'), ...ofWorkers];
  expect(place.proctor(['verify', folder, ...keys]).code).toBe(0);
  const runs = path.join(place.cwd, '.proctor', 'attempts', 'runs', 'script');
  const sent = readdirSync(runs);
  expect(new Set(sent)).toEqual(new Set(artifacts.map(one => one.attempts?.at(-1)?.run_id)));
  for (const id of sent) expect(place.proctor(['verify', path.join(runs, id), ...ofWorkers]).code).toBe(0);

  const alone = SUITE.filter(word => word !== '--queue').map(word => (word === 'new' ? 'baseline' : word));
  expect(place.proctor(alone.map(word => (word === 'r1' ? 'b1' : word))).code).toBe(0);
  const compared = place.proctor(['compare', 'b1', 'r1']);
  expect(compared.stdout, compared.stderr).toMatch(/^ *8 cases: 0 regressed, 0 improved, 8 same, 0 flaky, 0 missing$/m);
});

test('a conductor that is killed takes each run over once', async () => {
  const ids = Array.from({ length: 6 }, (_, index) => `case-${index}`);
  const { place, store, start, elsewhere, folder } = await scriptsWorld(ids);
  const home = elsewhere();
  const worker = start(['worker', '--slots', '2', '--json', '--allow-script', 'any', ...store], home);
  const conductor = start([...SUITE, ...store, '--concurrency', '6']);
  await until('two cases are settled', () => worker.stdout.split('"settled"').length > 2, 60_000);
  conductor.kill('SIGKILL');
  await conductor.ended;
  const resumed = start(['run', 'suite', '--resume', 'r1', ...store]);
  const { code, stderr } = await resumed.ended;
  expect(code, stderr).toBe(0);
  const artifacts = artifactsIn(folder, ids);
  const made = artifacts.flatMap(({ attempts = [] }) => attempts);
  expect(made.map(({ attempt, outcome, note }) => ({ attempt, outcome, note }))).toEqual(
    ids.map(() => ({ attempt: 1, outcome: 'ok', note: undefined })),
  );
  const kept = readdirSync(path.join(place.cwd, '.proctor', 'attempts', 'runs', 'script'));
  expect(new Set(kept)).toEqual(new Set(artifacts.map(one => one.attempts?.[0]?.run_id)));
  expect(place.proctor(['verify', folder]).code).toBe(0);
  worker.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
});

test('a worker at a server reads the script of its claim, and sends its run', async () => {
  const ids = ['a', 'b', 'c'];
  const { place, store, start, elsewhere, folder } = await scriptsWorld(ids);
  const made = place.proctor(['token', 'new', '--role', 'worker', '--name', 'workers', '--json']);
  const { token } = JSON.parse(made.stdout) as { token: string };
  const server = start(['serve', '--listen', '127.0.0.1:0', '--json', '--queue', ...store]);
  await expect.poll(() => server.stdout, { timeout: 20_000 }).toContain('"address"');
  const { origin } = new URL((JSON.parse(server.stdout) as { address: string }).address);
  const words = ['worker', '--on', origin, '--json', '--allow-script', SHA256];
  const worker = start(words, elsewhere(), { PROCTOR_TOKEN: token, PROCTOR_QUEUE: '' });
  const { code, stderr } = await start([...SUITE, ...store]).ended;
  expect(code, stderr).toBe(0);
  expect(artifactsIn(folder, ids).map(({ final_output }) => final_output?.content)).toEqual(['A', 'B', 'C']);
  expect(place.proctor(['verify', folder]).code).toBe(0);
  worker.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
});

test('a suite of scripts without a store is refused before anything is written', async () => {
  const { place, env } = await scriptsWorld(['a']);
  const { code, stderr } = place.proctor(SUITE, { env });
  expect(code).toBe(2);
  expect(stderr).toMatch(/^error: A script and its evidence reach the workers through a store\. Add --store/m);
  expect(existsSync(path.join(place.cwd, '.proctor', 'runs'))).toBe(false);
});

/** Suites of agents that workers run: the built command line, real sandboxes, PostgreSQL, a store, and a server. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { gitIn } from '../../stand-ins/git.ts';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import { bin, environment, placeAgents } from '../run/suite/agent-world.ts';
import { TestPostgres } from '../support/postgres.ts';
import { Place, type Started, until } from '../support/runs.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await TestPostgres.start();
});
afterAll(() => postgres.stop());
placeAgents();

/** The conductor has the agent, but no key for its model. */
const KEYLESS = {
  PATH: `${bin}:${process.env['PATH']}`,
  ANTHROPIC_API_KEY: '',
  ANTHROPIC_AUTH_TOKEN: '',
  CLAUDE_CODE_OAUTH_TOKEN: '',
};

async function agentsWorld(tasks: Readonly<Record<string, string>>) {
  const place = new Place();
  onTestFinished(() => place.remove());
  const ids = Object.keys(tasks);
  const lines = ids.map(
    id => `${JSON.stringify({ id, input: { user: tasks[id] }, expected: { contains: 'Done.' } })}\n`,
  );
  place.file('cases.jsonl', lines.join(''));
  const repository = path.join(place.cwd, 'repository');
  mkdirSync(repository);
  place.file('repository/README.md', 'A project.\n');
  gitIn(repository, 'init', '-q', '-b', 'main');
  gitIn(repository, 'add', '--all');
  gitIn(repository, '-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '-q', '-m', 'One');
  const env = { ...KEYLESS, PROCTOR_QUEUE: await postgres.database() };
  expect(place.proctor(['queue', 'migrate'], { env }).code).toBe(0);
  const started: Started[] = [];
  onTestFinished(async () => {
    for (const one of started) one.kill('SIGKILL');
    await Promise.all(started.map(one => one.ended));
  });
  const store = ['--store', path.join(place.cwd, 'blobs')];
  const start = (args: readonly string[], at: Place = place, more: Record<string, string> = {}): Started => {
    const one = at.start(args, { ...env, ...more });
    started.push(one);
    return one;
  };
  /** A worker lives in a folder of its own, as on another machine, and has the key of the model. */
  const worker = (at: Place, args: readonly string[] = [], more: Record<string, string> = {}): Started =>
    start(['worker', '--json', '--allow-agent', 'claude', ...args], at, { ...environment, ...more });
  const elsewhere = (): Place => {
    const other = new Place();
    onTestFinished(() => other.remove());
    return other;
  };
  const folder = path.join(place.cwd, '.proctor', 'runs', 'new', 'r1');
  const artifacts = (): CaseArtifact[] =>
    ids.map(id => JSON.parse(readFileSync(path.join(folder, `${id}.json`), 'utf8')) as CaseArtifact);
  return { place, env, store, start, worker, elsewhere, folder, ids, artifacts };
}

const AGENT = ['--agent', 'claude', '--dir', 'repository', '--policy', 'edit'];
const SUITE = ['run', 'suite', 'cases.jsonl', ...AGENT, '--as', 'new', '--run-id', 'r1', '--queue'];

test('a suite of agents survives the kill of a worker, verifies, and compares as the same with one process', async () => {
  const tasks = { slow: 'DO=wait:4000 DO=tested', quick: 'DO=tested', wrote: 'DO=write', wrong: 'DO=exit:3' };
  const { place, store, start, worker, elsewhere, folder, artifacts } = await agentsWorld(tasks);
  expect(place.proctor(['keys', 'new']).code).toBe(0);
  const homes = [elsewhere(), elsewhere()] as const;
  const words = ['--slots', '2', '--drain', '5s', ...store];
  const workers = homes.map(home => worker(home, words));
  const conductor = start([...SUITE, ...store, '--heartbeat', '10s', '--retries', '2', '--concurrency', '4']);
  const running = (home: Place): boolean => {
    const within = path.join(home.cwd, '.proctor', 'workers');
    return readdirSync(within, { recursive: true }).some(name => /runs\/agent\/[^/]+\/evidence/.test(String(name)));
  };
  const holder = (): number => workers.findIndex(one => one.stdout.includes('r1/slow/1'));
  await until('the slow agent runs', () => holder() !== -1 && running(homes[holder()] as Place), 60_000);
  const victim = holder();
  workers[victim]?.kill('SIGKILL');
  await workers[victim]?.ended;
  // The next worker in the folder removes what the dead one left.
  const again = worker(homes[victim] as Place, [...words, '--name', 'again']);
  const ended = await conductor.ended;
  expect(ended.code, ended.stderr).toBe(1);
  const made = artifacts();
  expect(made.map(({ runner_failure, agent_run }) => [runner_failure?.error_name, agent_run?.reason])).toEqual([
    [undefined, 'ok'],
    [undefined, 'ok'],
    [undefined, 'ok'],
    ['EXIT_NONZERO', 'exit_nonzero'],
  ]);
  const attempts = made[0]?.attempts;
  expect(attempts?.[0]?.note).toMatch(/was lost/);
  expect(attempts?.at(-1)?.outcome).toBe('ok');
  for (const one of [...workers, again]) one.kill('SIGTERM');
  await Promise.all([...workers, again].map(one => one.ended));
  for (const home of homes) expect(readdirSync(path.join(home.cwd, '.proctor', 'workers'))).toEqual([]);

  const ofWorkers = homes.flatMap(({ cwd }) => ['--key', path.join(cwd, '.proctor', 'keys', 'signing.pub')]);
  const keys = ['--key', path.join(place.cwd, '.proctor', 'keys', 'signing.pub'), ...ofWorkers];
  expect(place.proctor(['verify', folder, ...keys]).code).toBe(0);
  const runs = path.join(place.cwd, '.proctor', 'attempts', 'runs', 'agent');
  const sent = readdirSync(runs);
  expect(new Set(sent)).toEqual(new Set(made.map(one => one.agent_run?.run_id)));
  for (const id of sent) expect(place.proctor(['verify', path.join(runs, id), ...ofWorkers]).code).toBe(0);
  const shown = place.proctor(['show', path.join(runs, made[2]?.agent_run?.run_id ?? '')]);
  expect(shown.stdout, shown.stderr).toMatch(/hello\.txt/);

  const alone = SUITE.filter(word => word !== '--queue').map(word => (word === 'new' ? 'baseline' : word));
  const env = { ...environment, PATH: KEYLESS.PATH };
  expect(
    place.proctor(
      alone.map(word => (word === 'r1' ? 'b1' : word)),
      { env },
    ).code,
  ).toBe(1);
  const compared = place.proctor(['compare', 'b1', 'r1']);
  expect(compared.stdout, compared.stderr).toMatch(/^ *4 cases: 0 regressed, 0 improved, 4 same, 0 flaky, 0 missing$/m);
});

test('a conductor that is killed takes each run over once', async () => {
  const tasks = Object.fromEntries(Array.from({ length: 5 }, (_, index) => [`case-${index}`, 'DO=wait:500 DO=tested']));
  const { place, store, start, worker, elsewhere, folder, ids, artifacts } = await agentsWorld(tasks);
  const home = elsewhere();
  const one = worker(home, ['--slots', '2', ...store]);
  const conductor = start([...SUITE, ...store, '--concurrency', '5']);
  await until('two cases are settled', () => one.stdout.split('"settled"').length > 2, 60_000);
  conductor.kill('SIGKILL');
  await conductor.ended;
  const { code, stderr } = await start(['run', 'suite', '--resume', 'r1', ...store]).ended;
  expect(code, stderr).toBe(0);
  const made = artifacts().flatMap(({ attempts = [] }) => attempts);
  expect(made.map(({ attempt, outcome, note }) => ({ attempt, outcome, note }))).toEqual(
    ids.map(() => ({ attempt: 1, outcome: 'ok', note: undefined })),
  );
  const kept = readdirSync(path.join(place.cwd, '.proctor', 'attempts', 'runs', 'agent'));
  expect(new Set(kept)).toEqual(new Set(made.map(({ run_id }) => run_id)));
  expect(place.proctor(['verify', folder]).code).toBe(0);
  one.kill('SIGTERM');
  expect((await one.ended).code).toBe(0);
});

test('a worker at a server reads the tree and the policy of its claim, and sends its run', async () => {
  const { place, store, start, worker, elsewhere, folder, ids, artifacts } = await agentsWorld({
    a: 'DO=tested',
    b: 'DO=write',
  });
  const made = place.proctor(['token', 'new', '--role', 'worker', '--name', 'workers', '--json']);
  const { token } = JSON.parse(made.stdout) as { token: string };
  const server = start(['serve', '--listen', '127.0.0.1:0', '--json', '--queue', ...store]);
  await expect.poll(() => server.stdout, { timeout: 20_000 }).toContain('"address"');
  const { origin } = new URL((JSON.parse(server.stdout) as { address: string }).address);
  const one = worker(elsewhere(), ['--on', origin], { PROCTOR_TOKEN: token, PROCTOR_QUEUE: '' });
  const { code, stderr } = await start([...SUITE, ...store, '--target-slots', '1']).ended;
  expect(code, stderr).toBe(0);
  expect(artifacts().map(({ agent_run }) => agent_run?.reason)).toEqual(ids.map(() => 'ok'));
  expect(place.proctor(['verify', folder]).code).toBe(0);
  one.kill('SIGTERM');
  expect((await one.ended).code).toBe(0);
});

test('a worker that runs no agents never gets one, and the conductor says what is missing', async () => {
  const { place, env, store, start, worker, elsewhere, artifacts } = await agentsWorld({ a: 'DO=tested' });
  const other = start(['worker', '--json', '--allow-script', 'any', ...store], elsewhere());
  const conductor = start([...SUITE, ...store]);
  await until('the conductor warns', () => conductor.stderr.includes('--allow-agent claude'), 60_000);
  expect(conductor.stderr).toMatch(/No worker can make these attempts\. .* on a machine with claude 2\.1\.325/);
  expect(other.stdout).not.toContain('claimed');
  const shown = place.proctor(['queue', 'show'], { env });
  expect(shown.stdout, shown.stderr).toMatch(/agent\/claude\/2\.1\.325\/(?:strict|standard)\/sha256:[0-9a-f]{64}/);
  worker(elsewhere(), store);
  const { code, stderr } = await conductor.ended;
  expect(code, stderr).toBe(0);
  expect(artifacts()[0]?.attempts).toMatchObject([{ attempt: 1, outcome: 'ok' }]);
});

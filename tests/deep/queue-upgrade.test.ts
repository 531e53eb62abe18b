/** An upgrade of a team, release by release: tables, then the server, then conductors and workers. Real processes. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { Agent, answersWell } from '../run/suite/agent.ts';
import { type NextRelease, nextRelease } from '../support/next-release.ts';
import { TestPostgres } from '../support/postgres.ts';
import { Place, Started, until } from '../support/runs.ts';
import { ROOT } from '../support/support.ts';

const NOW = path.join(ROOT, 'dist', 'proctor.js');
let postgres: TestPostgres;
let next: NextRelease;
beforeAll(async () => {
  [postgres, next] = await Promise.all([TestPostgres.start(), nextRelease()]);
});
afterAll(async () => {
  next.remove();
  await postgres.stop();
});

/** A team whose processes can be of either release. */
async function team() {
  const place = new Place();
  onTestFinished(() => place.remove());
  const url = await postgres.database();
  const started: Started[] = [];
  onTestFinished(async () => {
    for (const one of started) one.kill('SIGKILL');
    await Promise.all(started.map(one => one.ended));
  });
  const start = (program: string, args: readonly string[], more: Record<string, string> = {}): Started => {
    const env = { ...process.env, NO_COLOR: '1', TMPDIR: place.temp, PROCTOR_QUEUE: url, ...more };
    const child = spawn(process.execPath, [program, ...args], {
      cwd: place.cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const one = new Started(child);
    started.push(one);
    return one;
  };
  const ran = (program: string, ...args: string[]) => start(program, args).ended;
  const serve = async (program: string, port = 0): Promise<{ server: Started; origin: string }> => {
    const server = start(program, ['serve', '--listen', `127.0.0.1:${port}`, '--json', '--queue', '--drain', '1s']);
    await until('the server listens', () => server.stdout.includes('"address"') || server.isOver);
    expect(server.stdout, server.stderr).toContain('"address"');
    return { server, origin: new URL((JSON.parse(server.stdout) as { address: string }).address).origin };
  };
  const suite = (program: string, id: string, baseUrl: string): Started =>
    start(program, ['run', 'suite', 'cases.jsonl', '--base-url', baseUrl, '--as', 'new', '--run-id', id, '--queue']);
  const worker = async (program: string, origin: string): Promise<Started> => {
    const made = await ran(program, 'token', 'new', '--role', 'worker', '--name', 'workers', '--json');
    const { token } = JSON.parse(made.stdout) as { token: string };
    return start(program, ['worker', '--on', origin, '--slots', '2', '--json'], { PROCTOR_TOKEN: token });
  };
  return { place, url, start, ran, serve, suite, worker };
}

/** An agent that answers only when it may. */
async function heldAgent(ids: readonly string[]) {
  let release = (): void => undefined;
  const released = new Promise<void>(resolve => {
    release = resolve;
  });
  const agent = new Agent(
    Object.fromEntries(
      ids.map(id => [id, (...seen: Parameters<typeof answersWell>) => void released.then(() => answersWell(...seen))]),
    ),
  );
  const keys = (run: string) =>
    agent.seen.map(({ headers }) => String(headers['idempotency-key'])).filter(key => key.startsWith(`${run}/`));
  return { baseUrl: await agent.start(), keys, release };
}

const IDS = ['a', 'b', 'c', 'd'];
const CASES = IDS.map(id => `${JSON.stringify({ id, input: { user: id } })}\n`).join('');

test('a worker of the release before finishes its attempts at a new server, and leaves new requests to new workers', async () => {
  const { place, ran, serve, suite, worker } = await team();
  place.file('cases.jsonl', CASES);
  const agent = await heldAgent(IDS);
  expect((await ran(NOW, 'queue', 'migrate')).code).toBe(0);
  const before = await serve(NOW);
  const old = await worker(NOW, before.origin);
  const first = suite(NOW, 'r1', agent.baseUrl);
  await until('two attempts are under way', () => agent.keys('r1').length === 2);

  expect((await ran(next.program, 'queue', 'migrate')).stdout).toBe('The tables have version 4 now.\n');
  before.server.kill('SIGTERM');
  expect(await before.server.ended).toMatchObject({ code: 0 });
  const after = await serve(next.program, Number(new URL(before.origin).port));
  agent.release();
  const ended = await first.ended;
  expect(ended.code, ended.stderr).toBe(0);
  expect(agent.keys('r1').sort()).toEqual(IDS.map(id => `r1/${id}/1`));

  const second = suite(next.program, 'r2', agent.baseUrl);
  const warning = 'No worker can make these attempts. Start one of this release with: proctor worker';
  await until('the conductor warns', () => second.stderr.includes(warning) || second.isOver);
  expect(second.stderr).toContain(warning);
  expect(agent.keys('r2')).toEqual([]);
  const shown = await ran(next.program, 'queue', 'show');
  expect(shown.stdout).toMatch(/^http +4 .* none offers it$/m);
  expect(shown.stdout, 'the old worker is there').toMatch(/@tok_[0-9a-f]{16} +0 of 2 /);

  await worker(next.program, after.origin);
  expect(await second.ended).toMatchObject({ code: 0 });
  expect(agent.keys('r2').sort()).toEqual(IDS.map(id => `r2/${id}/1`));
  old.kill('SIGTERM');
  expect(await old.ended).toMatchObject({ code: 0, stdout: expect.not.stringContaining('"r2/') as string });
  expect(await ran(next.program, 'verify', '.proctor/runs/new/r1', '.proctor/runs/new/r2')).toMatchObject({ code: 0 });
});

test('a worker of the next release makes the attempts of a server and a conductor of this one', async () => {
  const { place, ran, serve, suite, worker } = await team();
  place.file('cases.jsonl', CASES);
  const agent = await heldAgent(IDS);
  agent.release();
  expect((await ran(NOW, 'queue', 'migrate')).code).toBe(0);
  const { origin } = await serve(NOW);
  await worker(next.program, origin);
  const ended = await suite(NOW, 'r1', agent.baseUrl).ended;
  expect(ended.code, ended.stderr).toBe(0);
  expect(agent.keys('r1').sort()).toEqual(IDS.map(id => `r1/${id}/1`));
  expect(await ran(NOW, 'verify', '.proctor/runs/new/r1')).toMatchObject({ code: 0 });
});

test('every command refuses tables that are older, or two versions newer, with exit code 2 and what to do', async () => {
  const { place, url, ran } = await team();
  place.file('cases.jsonl', CASES);
  const said = async (program: string, words: readonly string[]) => {
    const { code, stderr } = await ran(program, ...words);
    return [code, stderr];
  };
  const commands = [
    ['worker', '--queue'],
    ['serve', '--listen', '127.0.0.1:0', '--queue'],
    ['run', 'suite', 'cases.jsonl', '--base-url', 'http://127.0.0.1:9', '--as', 'new', '--queue'],
  ];
  await ran(NOW, 'queue', 'migrate');
  const older =
    'error: The tables of the queue have version 3, and this release needs version 4. Run `proctor queue migrate` with this release.\n';
  for (const words of commands) expect(await said(next.program, words)).toEqual([2, older]);
  await ran(next.program, 'queue', 'migrate');
  expect(await ran(NOW, 'queue', 'show')).toMatchObject({ code: 0 });
  expect(await ran(NOW, 'queue', 'migrate')).toMatchObject({ code: 2 });
  await postgres.sql('insert into proctor.migration (version) values (5)', url);
  const newer =
    'error: The tables of the queue have version 5, and this release supports versions 3 and 4. Install a newer release of Proctor.\n';
  for (const words of commands) expect(await said(NOW, words)).toEqual([2, newer]);
});

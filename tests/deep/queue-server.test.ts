/** Suites that a server conducts for its clients, and that workers of its queue make. */
import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { bytesHash } from '../../src/base/hash.ts';
import { Agent, answersWell } from '../run/suite/agent.ts';
import { orderingServer } from '../serve/orders/ordering-server.ts';
import { TestPostgres } from '../support/postgres.ts';
import { endProcess, Place, type Started, until } from '../support/runs.ts';
import { temporaryFolder } from '../support/support.ts';

const PASSWORD = 'pw-of-the-queue-8f2c';
const CASES = Array.from({ length: 12 }, (_, index) => `case-${index}`);

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await TestPostgres.start();
});
afterAll(() => postgres.stop());

/** A project whose processes end with the test. */
function project(): {
  readonly place: Place;
  readonly start: (args: readonly string[], env?: Record<string, string>) => Started;
} {
  const place = new Place();
  const started: Started[] = [];
  onTestFinished(async () => {
    for (const one of started) one.kill('SIGKILL');
    await Promise.all(started.map(one => one.ended));
    place.remove();
  });
  return {
    place,
    start: (args, env = {}) => {
      const one = place.start(args, { PROCTOR_QUEUE: '', PROCTOR_TOKEN: '', ...env });
      started.push(one);
      return one;
    },
  };
}

/** The command lines of the processes in a folder, by pid. */
function commandsIn(cwd: string): Map<number, string> {
  const found = new Map<number, string>();
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
    try {
      if (readlinkSync(`/proc/${pid}/cwd`) === realpathSync(cwd))
        found.set(Number(pid), readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '));
    } catch {
      // The process has ended.
    }
  }
  return found;
}

const filesWith = (folder: string, text: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => path.join(entry.parentPath, entry.name))
    .filter(file => readFileSync(file).includes(text));

test('run suite --on --queue --twice lets a worker with another key make each attempt again', async () => {
  const ids = CASES.slice(0, 4);
  const agent = new Agent(Object.fromEntries(ids.map(id => [id, answersWell])));
  const baseUrl = await agent.start();
  const queue = await postgres.database();
  const { place } = project();
  expect(place.proctor(['queue', 'migrate'], { env: { PROCTOR_QUEUE: queue } }).code).toBe(0);
  expect(place.proctor(['keys', 'new']).code).toBe(0);
  const team = { queue, environment: { ...process.env, PROCTOR_QUEUE: queue } };
  const server = await orderingServer(place.cwd, { team });
  const workers = [project(), project()];
  for (const { start } of workers) start(['worker', '--queue', '--slots', '2'], { PROCTOR_QUEUE: queue });
  const client = project();
  client.place.file('cases.jsonl', ids.map(id => `${JSON.stringify({ id, input: { user: id } })}\n`).join(''));
  const words = ['run', 'suite', 'cases.jsonl', '--as', 'new', '--base-url', baseUrl, '--run-id', 'r1'];
  const { code, stderr } = await client.start([...words, '--on', server.origin, '--queue', '--twice', '1'], {
    PROCTOR_TOKEN: server.token,
  }).ended;
  expect(code, stderr).toBe(0);
  expect(stderr).toContain('4 of 4 attempts were made twice');
  expect(agent.seen.map(({ caseId }) => caseId).sort()).toEqual([...ids, ...ids].sort());
  const keys = [place, ...workers.map(worker => worker.place)].flatMap(({ cwd }) => [
    '--key',
    path.join(cwd, '.proctor', 'keys', 'signing.pub'),
  ]);
  const verified = client.place.proctor(['verify', path.join('.proctor', 'runs', 'new', 'r1'), ...keys]);
  expect(verified.code, verified.stdout + verified.stderr).toBe(0);
});

test('run suite --on --queue runs a script on a worker that allows it, and the pack verifies', async () => {
  const queue = await postgres.database();
  const env = { PROCTOR_QUEUE: queue };
  const { place } = project();
  expect(place.proctor(['queue', 'migrate'], { env }).code).toBe(0);
  const store = temporaryFolder();
  const server = await orderingServer(place.cwd, { team: { queue, store, environment: { ...process.env, ...env } } });
  const worker = project();
  const script = `import json
question = json.load(open("input/case.json"))
print(json.dumps({"case_id": question["case_id"], "version": question["version"],
  "final_output": {"content_type": "text", "content": question["input"]["user"].upper()}}))
`;
  const digest = bytesHash(script).replace('sha256:', '');
  worker.start(['worker', '--queue', '--store', store, '--slots', '2', '--allow-script', digest], env);
  const client = project();
  client.place.file('answer.py', script);
  client.place.file('cases.jsonl', '{"id":"one","input":{"user":"hello"}}\n');
  const words = ['run', 'suite', 'cases.jsonl', '--as', 'new', '--script', 'answer.py', '--run-id', 'r1'];
  const { code, stderr } = await client.start([...words, '--on', server.origin, '--queue'], {
    PROCTOR_TOKEN: server.token,
  }).ended;
  expect(code, stderr).toBe(0);
  const read = (...at: string[]): string => readFileSync(path.join(client.place.cwd, '.proctor', ...at), 'utf8');
  expect(JSON.parse(read('runs', 'new', 'r1', 'one.json'))).toMatchObject({ final_output: { content: 'HELLO' } });
  expect(read('runs', 'new', 'r1', 'assets', 'outcomes.ndjson')).not.toBe('');
  expect(client.place.proctor(['verify', path.join('.proctor', 'runs', 'new', 'r1')]).code).toBe(0);
});

test('run suite --on --queue is made by workers, survives kills of server and conductor, and verifies with all keys', async () => {
  const held: (() => void)[] = [];
  let isOpen = false;
  const holds: typeof answersWell = (seen, response, times) => {
    if (isOpen) answersWell(seen, response, times);
    else held.push(() => answersWell(seen, response, times));
  };
  const agent = new Agent(Object.fromEntries(CASES.map(id => [id, holds])));
  const baseUrl = await agent.start();
  const queue = (await postgres.database()).replace('proctor@', `proctor:${PASSWORD}@`);
  const { place, start } = project();
  const env = { PROCTOR_QUEUE: queue };
  expect(place.proctor(['queue', 'migrate'], { env }).code).toBe(0);
  expect(place.proctor(['keys', 'new']).code).toBe(0);
  const tokenFor = (role: string): string => {
    const { stdout } = place.proctor(['token', 'new', '--role', role, '--name', role, '--json']);
    return (JSON.parse(stdout) as { token: string }).token;
  };
  const serve = async (listen: string): Promise<{ readonly server: Started; readonly origin: string }> => {
    const server = start(['serve', '--listen', listen, '--json', '--queue', '--store', 'blobs'], env);
    await until('the server listens', () => server.stdout.includes('"address"'));
    return { server, origin: new URL((JSON.parse(server.stdout) as { address: string }).address).origin };
  };
  const first = await serve('127.0.0.1:0');
  const workers = [project(), project()];
  for (const worker of workers)
    worker.start(['worker', '--on', first.origin, '--slots', '2'], { PROCTOR_TOKEN: tokenFor('worker') });
  const client = project();
  client.place.file('cases.jsonl', CASES.map(id => `${JSON.stringify({ id, input: { user: id } })}\n`).join(''));
  const words = ['run', 'suite', 'cases.jsonl', '--as', 'new', '--base-url', baseUrl, '--run-id', 'r1'];
  const suite = client.start([...words, '--on', first.origin, '--queue', '--concurrency', '8'], {
    PROCTOR_TOKEN: tokenFor('runner'),
  });
  await until('the workers ask', () => held.length === 4);

  const running = commandsIn(place.cwd);
  expect([...running.values()].filter(command => command.includes('--resume'))).toHaveLength(1);
  expect([...running.values()].join('\n')).not.toContain(PASSWORD);
  first.server.kill('SIGKILL');
  for (const [pid, command] of running) if (command.includes('--resume')) endProcess(pid);
  await first.server.ended;
  isOpen = true;
  for (const answer of held) answer();
  const second = await serve(new URL(first.origin).host);

  const { code, stderr } = await suite.ended;
  expect(code, stderr + second.server.stderr).toBe(0);
  expect(stderr).toContain('12 of 12 cases');
  expect(agent.seen.map(({ caseId }) => caseId).sort()).toEqual(CASES.toSorted());
  const fetched = path.join(client.place.cwd, '.proctor', 'runs', 'new', 'r1');
  const makers = [place, ...workers.map(worker => worker.place)];
  const keys = makers.flatMap(({ cwd }) => ['--key', path.join(cwd, '.proctor', 'keys', 'signing.pub')]);
  const verified = client.place.proctor(['verify', fetched, ...keys]);
  expect(verified.code, verified.stdout + verified.stderr).toBe(0);
  expect(client.place.proctor(['verify', fetched, ...keys.slice(0, 2)]).code).not.toBe(0);
  for (const { cwd } of [...makers, client.place]) expect(filesWith(cwd, PASSWORD)).toEqual([]);
  for (const { stdout, stderr: log } of [first.server, second.server, suite])
    expect(stdout + log).not.toContain(PASSWORD);

  // Another server of the same queue has no proof that it began this run.
  const other = await orderingServer(temporaryFolder(), { team: { queue, environment: process.env } });
  const again = project();
  again.place.file('cases.jsonl', readFileSync(path.join(client.place.cwd, 'cases.jsonl')));
  const refused = await again.start([...words, '--on', other.origin, '--queue'], { PROCTOR_TOKEN: other.token }).ended;
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining('already has attempts of a run called r1'),
  ]);
  expect(agent.seen).toHaveLength(CASES.length);
});

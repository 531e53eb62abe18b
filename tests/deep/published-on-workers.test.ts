/** Published scripts that workers run for a server: the built command line, real sandboxes, PostgreSQL and a store. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { ScriptRunRow, ScriptRunView } from '../../src/publish/views.ts';
import { TestPostgres } from '../support/postgres.ts';
import { Place, type Started, until } from '../support/runs.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await TestPostgres.start();
});
afterAll(() => postgres.stop());

/** Says that it began, waits as long as it is told, and copies its inputs. */
const SCRIPT = `
import json, os, shutil, time
import proctor_tool

def run_tool(input_dir, output_dir):
    inputs = json.load(open(os.path.join(input_dir, "inputs.json")))
    print("PROGRESS 10% begun", flush=True)
    time.sleep(inputs["seconds"])
    if inputs["data"]:
        shutil.copy(inputs["data"]["path"], os.path.join(output_dir, "data.txt"))
    page = open(os.path.join(input_dir, "page.html")).read()
    return page.replace("WORD", inputs["word"])

proctor_tool.run(run_tool)
`;

const YAML = {
  schema_version: 'published-script.v1',
  name: 'copy',
  version: '1.0.0',
  title: 'Copy',
  script: 'copy.py',
  files: ['parts/page.html'],
  inputs: [
    { kind: 'text', name: 'word', label: 'Word', default: 'hello' },
    { kind: 'number', name: 'seconds', label: 'Seconds', default: 0 },
    { kind: 'file', name: 'data', label: 'Data' },
  ],
  limits: { timeout: '60s' },
};

async function workersWorld() {
  const place = new Place();
  const others: Place[] = [];
  const env = { PROCTOR_QUEUE: await postgres.database(), PROCTOR_TOKEN: '' };
  const started: Started[] = [];
  onTestFinished(async () => {
    for (const one of started) one.kill('SIGKILL');
    await Promise.all(started.map(one => one.ended));
    for (const one of [place, ...others]) one.remove();
  });
  place.file('tool/script.yaml', JSON.stringify(YAML));
  place.file('tool/copy.py', SCRIPT);
  place.file('tool/parts/page.html', '<p>WORD</p>');
  for (const words of [
    ['queue', 'migrate'],
    ['keys', 'new'],
    ['publish', 'tool'],
  ])
    expect(place.proctor(words, { env }).code, words.join(' ')).toBe(0);
  const token = tokenOf(place, 'admin');
  const store = ['--store', path.join(place.cwd, 'blobs')];
  const start = (args: readonly string[], at: Place, more: Record<string, string> = {}): Started => {
    const one = at.start(args, { ...env, ...more });
    started.push(one);
    return one;
  };
  const server = async (more: readonly string[] = []) => {
    const words = ['serve', '--listen', '127.0.0.1:0', '--json', '--queue', ...store, '--scripts-on', 'workers'];
    const process = start([...words, '--drain', '2s', ...more], place);
    await expect.poll(() => process.stdout + process.stderr, { timeout: 30_000 }).toContain('"address"');
    return { process, ...apiOf(new URL((JSON.parse(process.stdout) as { address: string }).address).origin, token) };
  };
  const elsewhere = (): Place => {
    const other = new Place();
    others.push(other);
    return other;
  };
  const worker = (at: Place, more: readonly string[] = []): Started =>
    start(['worker', '--slots', '2', '--drain', '5s', '--json', '--allow-script', 'any', ...store, ...more], at);
  return { place, env, store, start, server, elsewhere, worker };
}

function tokenOf(place: Place, role: string): string {
  const made = place.proctor(['token', 'new', '--role', role, '--name', role, '--json']);
  return (JSON.parse(made.stdout) as { token: string }).token;
}

function apiOf(origin: string, token: string) {
  const headers = { authorization: `Bearer ${token}` };
  const get = async (at: string): Promise<unknown> => (await fetch(`${origin}${at}`, { headers })).json();
  return {
    origin,
    get,
    order: async (fields: Record<string, string>, file?: string): Promise<string> => {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.append(name, value);
      if (file !== undefined) form.append('data', new Blob([file]), 'Data (final).txt');
      const response = await fetch(`${origin}/v1/scripts/copy/runs`, { method: 'POST', headers, body: form });
      const answer = (await response.json()) as { run_id: string };
      expect(response.status, JSON.stringify(answer)).toBe(202);
      return answer.run_id;
    },
    view: async (id: string) => (await get(`/v1/script-runs/${id}`)) as ScriptRunView,
    rows: async () => ((await get('/v1/script-runs')) as { runs: ScriptRunRow[] }).runs,
    cancel: async (id: string) =>
      (await fetch(`${origin}/v1/script-runs/${id}/cancel`, { method: 'POST', headers })).json(),
    file: async (id: string, name: string) =>
      (await fetch(`${origin}/v1/script-runs/${id}/files/${name}`, { headers })).text(),
  };
}

/** Waits until a run has ended, in whatever way. */
async function settled(view: (id: string) => Promise<ScriptRunView>, id: string): Promise<void> {
  await expect.poll(async () => ['waiting', 'running'].includes((await view(id)).state), STATE).toBe(false);
}

const STATE = { timeout: 60_000, interval: 200 };

test('a worker runs a published script, and the server shows its run like one of its own', async () => {
  const { place, server, elsewhere, worker } = await workersWorld();
  const { order, view, rows, file, get } = await server();
  const id = await order({ word: 'moin' }, 'some data');
  await expect.poll(async () => (await view(id)).waits_for, STATE).toBe('a worker that may run this script');
  expect(await view(id)).toMatchObject({ state: 'waiting', position: 1 });
  const home = elsewhere();
  const one = worker(home);
  await settled(view, id);
  expect(await view(id)).toMatchObject({
    state: 'succeeded',
    html_output: '<p>moin</p>',
    error_summary: null,
    files: [{ path: 'data.txt', state: 'offered' }],
  });
  expect((await view(id)).operator_note).toMatch(/^Worker .* made this run\. Its key is sha256:/);
  expect((await rows()).map(({ run_id, state }) => [run_id, state])).toEqual([[id, 'succeeded']]);
  expect(await file(id, 'data.txt')).toBe('some data');
  expect(await get(`/v1/runs/${id}/evidence`)).toMatchObject({ signature: { state: 'valid' }, ledger: {} });
  const folder = path.join(place.cwd, '.proctor', 'runs', 'script', id);
  for (const at of [place, home]) {
    const key = path.join(at.cwd, '.proctor', 'keys', 'signing.pub');
    const { code, stdout, stderr } = place.proctor(['verify', folder, '--key', key]);
    expect(code, stdout + stderr).toBe(0);
  }
  one.kill('SIGTERM');
  expect((await one.ended).code).toBe(0);
});

/** How often the workers claimed a run. */
const claimsOf = (workers: readonly Started[], id: string): number =>
  workers.reduce((sum, { stdout }) => sum + stdout.split('\n').filter(isClaimOf(id)).length, 0);

const isClaimOf = (id: string) => (line: string) => line.includes('"claimed"') && line.includes(id);

test('a run whose worker is killed is lost, says so to its user and to operators, and does not run again', async () => {
  const { server, elsewhere, worker } = await workersWorld();
  const { process, order, view } = await server();
  const victim = worker(elsewhere());
  const id = await order({ seconds: '300' });
  await expect.poll(async () => (await view(id)).state, STATE).toBe('running');
  expect((await view(id)).started_at).not.toBeNull();
  const survivor = worker(elsewhere());
  victim.kill('SIGKILL');
  await victim.ended;
  await settled(view, id);
  const { state, error_summary, operator_note } = await view(id);
  expect(state).toBe('lost');
  expect(error_summary).toMatch(/^The machine that ran the script was lost/);
  expect(operator_note).toMatch(/^Worker .* began the run at .* and was lost\. The queue gave the run up at /);
  expect(process.stderr).toContain('"worker_lost"');
  const next = await order({ word: 'next' });
  await settled(view, next);
  expect(await view(next)).toMatchObject({ state: 'succeeded', html_output: '<p>next</p>' });
  expect([claimsOf([victim, survivor], id), claimsOf([survivor], id)]).toEqual([1, 0]);
});

test('the next server collects the runs of a server that was killed, and runs none of them twice', async () => {
  const { place, server, elsewhere, worker, env, store } = await workersWorld();
  const first = await server();
  const only = worker(elsewhere(), ['--slots', '1']);
  const running = await first.order({ seconds: '6', word: 'running' }, 'data of the first');
  await expect.poll(async () => (await first.view(running)).state, STATE).toBe('running');
  const waiting = await first.order({ word: 'waiting' });
  const taken = await first.order({ word: 'taken back' });
  await first.cancel(taken);
  await settled(first.view, taken);
  first.process.kill('SIGKILL');
  await first.process.ended;
  await until('the worker has settled the first run', () => only.stdout.includes('"settled"'), 60_000);

  // A server that runs scripts itself must not run them again.
  const words = ['serve', '--listen', '127.0.0.1:0', '--json', '--queue', ...store, '--drain', '2s'];
  const careless = place.start(words, env);
  await expect.poll(() => careless.stdout, { timeout: 30_000 }).toContain('"address"');
  const api = apiOf(
    new URL((JSON.parse(careless.stdout) as { address: string }).address).origin,
    tokenOf(place, 'admin'),
  );
  expect(await api.view(running)).toMatchObject({ state: 'waiting', waits_for: expect.stringMatching(/operator/) });
  careless.kill('SIGTERM');
  await careless.ended;

  const second = await server();
  for (const id of [running, waiting, taken]) await settled(second.view, id);
  expect(await second.view(running)).toMatchObject({ state: 'succeeded', html_output: '<p>running</p>' });
  expect(await second.file(running, 'data.txt')).toBe('data of the first');
  expect(await second.view(waiting)).toMatchObject({ state: 'succeeded', html_output: '<p>waiting</p>' });
  expect(await second.view(taken)).toMatchObject({ state: 'stopped' });
  expect([running, waiting, taken].map(id => claimsOf([only], id))).toEqual([1, 1, 0]);
  for (const id of [running, waiting]) {
    const { code, stdout } = place.proctor(['verify', path.join(place.cwd, '.proctor', 'runs', 'script', id)]);
    expect(code, stdout).toBe(0);
    const record = path.join(place.cwd, '.proctor', 'server', 'script-runs', id);
    expect(readdirSync(record)).toEqual(['journal.ndjson']);
  }
});

test('a worker at a server fetches the files of its claim only, and a user stops runs', async () => {
  const { place, start, server, elsewhere } = await workersWorld();
  const { origin, order, view, cancel } = await server();
  const words = ['worker', '--on', origin, '--slots', '1', '--json', '--allow-script'];
  const token = { PROCTOR_TOKEN: tokenOf(place, 'worker'), PROCTOR_QUEUE: '' };
  const other = start([...words, '0'.repeat(64)], elsewhere(), token);
  const id = await order({ seconds: '300' }, 'data');
  await expect.poll(async () => (await view(id)).waits_for, STATE).toBe('a worker that may run this script');
  const [{ digest } = { digest: '' }] = versionsIn(place);
  const home = elsewhere();
  const one = start([...words, digest.replace('sha256:', '')], home, token);
  await expect.poll(async () => (await view(id)).state, STATE).toBe('running');
  const waiting = await order({ word: 'waiting' });
  await cancel(waiting);
  await settled(view, waiting);
  expect(await view(waiting)).toMatchObject({ state: 'stopped', error_summary: 'The run was cancelled.' });
  await cancel(id);
  await settled(view, id);
  expect(await view(id)).toMatchObject({ state: 'stopped', html_output: null, files: [] });
  await until('the worker has stopped the script', () => one.stdout.includes('"lost"'), 60_000);
  const last = await order({ word: 'last' }, 'more data');
  await settled(view, last);
  expect(await view(last)).toMatchObject({ state: 'succeeded', html_output: '<p>last</p>' });
  expect([claimsOf([other], id), claimsOf([one], id), claimsOf([one], waiting)]).toEqual([0, 1, 0]);
  for (const worker of [one, other]) worker.kill('SIGTERM');
  expect((await one.ended).code).toBe(0);
  expect(readdirSync(path.join(home.cwd, '.proctor', 'workers'))).toEqual([]);
});

/** The published versions of a project. */
function versionsIn(place: Place): { readonly digest: string }[] {
  const listed = JSON.parse(place.proctor(['publish', '--list', '--json']).stdout) as {
    scripts: { versions: { digest: string }[] }[];
  };
  return listed.scripts.flatMap(({ versions }) => versions);
}

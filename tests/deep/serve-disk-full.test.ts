import { appendFileSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { Tokens } from '../../src/serve/access/tokens.ts';
import { serverFolder } from '../../src/serve/state/server-folder.ts';
import { publishScript } from '../../src/verbs/publish/publish.ts';
import { serverHome } from '../../src/verbs/server-home.ts';
import { Agent, answersWell } from '../run/suite/agent.ts';
import { Place, smallHome, until } from '../support/runs.ts';

test('a full disk refuses acts with 503, and nothing is lost when there is space again', async context => {
  const place = new Place();
  onTestFinished(() => place.remove());
  smallHome(context, place, 6 * 1024);
  const home = path.join(place.cwd, '.proctor');
  let release = (): void => undefined;
  const released = new Promise<void>(resolve => (release = resolve));
  const held: typeof answersWell = (...asked) => void released.then(() => answersWell(...asked));
  const agent = new Agent({ two: held });
  const client = await served(place, await agent.start());

  // Before: one run of each kind has ended, and one of each runs.
  const first = { suite: await client.suite('s1', ['one']), script: await client.script('k1') };
  expect([first.suite.status, first.script.status]).toEqual([202, 202]);
  await client.ended(`/v1/runs/${first.suite.run_id}`, 'finished');
  await client.ended(`/v1/script-runs/${first.script.run_id}`, 'succeeded');
  const running = { suite: await client.suite('s2', ['two']), script: await client.script('k2', 'wait') };
  await expect.poll(() => agent.times('two')).toBe(1);
  await client.ended(`/v1/script-runs/${running.script.run_id}`, 'running');
  const files = path.join(home, 'server/script-runs', running.script.run_id, 'input');
  await until('the script has started', () => readdirSync(files).length > 0);

  // An upload that does not fit is refused, and leaves nothing.
  const large = await client.script('k3', 'hello', 'x'.repeat(8 * 1024 ** 2));
  expect([large.status, large.error?.message]).toEqual([503, expect.stringContaining('the disk is full')]);
  expect(readdirSync(path.join(home, 'server/uploads'))).toEqual([]);

  fill(home);
  const refused = await Promise.all([client.suite('s4', ['one']), client.script('k4'), client.publish('2.0.0')]);
  expect(refused.map(({ status }) => status)).toEqual([503, 503, 503]);
  for (const { error } of refused) expect(error?.message).toMatch(/^[A-Z].*(?:written|stored|created|files).*\.$/);
  for (const at of ['/v1/runs', '/v1/script-runs', '/v1/scripts', '/healthz', `/v1/runs/${first.suite.run_id}`])
    expect((await client.ask(at)).status, at).toBe(200);
  expect(await client.state(`/v1/script-runs/${first.script.run_id}`)).toBe('succeeded');
  // What runs comes to its end on the full disk, and cannot be stored there.
  release();
  const isOver = async () =>
    client.log().includes('"script_run"') ||
    (await client.state(`/v1/script-runs/${running.script.run_id}`)) !== 'running';
  await expect.poll(isOver, { timeout: 60_000 }).toBe(true);

  rmSync(path.join(home, 'ballast'));
  await client.ended(`/v1/script-runs/${running.script.run_id}`, /^(?:failed|stopped|succeeded)$/);
  if ((await client.state(`/v1/runs/${running.suite.run_id}`)) !== 'finished') {
    await client.ended(`/v1/runs/${running.suite.run_id}`, /^(?:interrupted|finished)$/);
    await client.ask(`/v1/runs/${running.suite.run_id}/resume`, { method: 'POST' });
  }
  await client.ended(`/v1/runs/${running.suite.run_id}`, 'finished');
  // The same orders again, with their keys.
  const again = { suite: await client.suite('s4', ['one']), script: await client.script('k4') };
  expect([again.suite.status, again.script.status]).toEqual([202, 202]);
  await client.ended(`/v1/runs/${again.suite.run_id}`, 'finished');
  await client.ended(`/v1/script-runs/${again.script.run_id}`, 'succeeded');
  expect((await client.publish('2.0.0')).status).toBe(200);

  const { runs } = (await client.json('/v1/script-runs')) as { runs: { run_id: string }[] };
  expect(runs.map(({ run_id }) => run_id).sort()).toEqual(
    [first, running, again].map(({ script }) => script.run_id).sort(),
  );
  expect(client.log()).not.toContain('"code":"bug"');
  const lanes = ['new', 'script'].map(lane => path.join(home, 'runs', lane));
  const folders = lanes.flatMap(lane => readdirSync(lane).map(id => path.join(lane, id)));
  expect(folders).toHaveLength(6);
  const { code, stdout, stderr } = place.proctor(['verify', ...folders]);
  expect(code, stdout + stderr).toBe(0);
});

function fill(home: string): void {
  const ballast = path.join(home, 'ballast');
  expect(() => {
    for (;;) appendFileSync(ballast, Buffer.alloc(4096));
  }).toThrow('ENOSPC');
}

interface Answered {
  readonly status: number;
  readonly run_id: string;
  readonly error?: { readonly code: string; readonly message: string };
}

/** A real server of a project with a published script, and a client of it. */
async function served(place: Place, agentUrl: string) {
  const form = (version: string): FormData => {
    const folder = new FormData();
    const input = { kind: 'text', name: 'word', label: 'Word', required: true };
    const file = { kind: 'file', name: 'list', label: 'List' };
    const names = { schema_version: 'published-script.v1', name: 'echo', version, title: 'Echo', script: 'run.sh' };
    folder.append('file', new File([JSON.stringify({ ...names, inputs: [input, file] })], 'script.yaml'));
    folder.append('file', new File([ECHOES], 'run.sh'));
    return folder;
  };
  for (const [, entry] of form('1.0.0')) place.file(`tool/${(entry as File).name}`, await (entry as File).text());
  await publishScript('tool', { cwd: place.cwd });
  const tokens = new Tokens(serverFolder(serverHome(place.cwd)), systemClock);
  const { text: token } = await tokens.create({ name: 'tests', role: 'runner' });
  const server = place.start(['serve', '--listen', '127.0.0.1:0', '--json']);
  onTestFinished(async () => {
    server.kill('SIGKILL');
    await server.ended;
  });
  await until('the server listens', () => server.stdout.includes('}'));
  const { origin } = new URL((JSON.parse(server.stdout) as { address: string }).address);
  const ask = (at: string, init: RequestInit = {}): Promise<Response> => {
    const headers = { authorization: `Bearer ${token}`, ...(init.headers as Record<string, string>) };
    return fetch(`${origin}${at}`, { ...init, headers });
  };
  const json = async (at: string): Promise<unknown> => (await ask(at)).json();
  const state = async (at: string): Promise<string> => ((await json(at)) as { state: string }).state;
  const answered = async (response: Response): Promise<Answered> => ({
    status: response.status,
    ...((await response.json()) as Omit<Answered, 'status'>),
  });
  return {
    ask,
    json,
    state,
    log: () => server.stderr,
    ended: async (at: string, end: string | RegExp): Promise<void> => {
      await expect.poll(() => state(at), { timeout: 60_000, interval: 200 }).toMatch(end);
    },
    suite: async (key: string, ids: readonly string[]): Promise<Answered> => {
      const text = ids.map(id => `${JSON.stringify({ id, input: { user: id } })}\n`).join('');
      const body = { as: 'new', cases: { name: 'cases.jsonl', text }, base_url: agentUrl };
      const headers = { 'content-type': 'application/json', 'idempotency-key': key };
      return answered(await ask('/v1/runs', { method: 'POST', headers, body: JSON.stringify(body) }));
    },
    script: async (key: string, word = 'hello', list?: string): Promise<Answered> => {
      const values = new FormData();
      values.set('word', word);
      if (list !== undefined) values.set('list', new File([list], 'list.txt'));
      const headers = { 'idempotency-key': key };
      return answered(await ask('/v1/scripts/echo/runs', { method: 'POST', headers, body: values }));
    },
    publish: async (version: string): Promise<Answered> =>
      answered(await ask('/v1/scripts', { method: 'POST', body: form(version) })),
  };
}

const ECHOES = `mkdir -p output
cp input/inputs.json output/
grep -q wait input/inputs.json && sleep 4 && dd if=/dev/urandom of=output/large bs=64k count=4
printf '{"contract_version":1,"status":"succeeded","html_output":"","error_summary":null,"artifacts":[]}' > result.json
`;

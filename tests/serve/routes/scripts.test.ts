import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { Fault } from '../../../src/base/fault.ts';
import type { ScriptRunView } from '../../../src/publish/views.ts';
import { ServerLog } from '../../../src/serve/operation/log.ts';
import { openScriptOrders } from '../../../src/serve/orders/script-orders.ts';
import { serve } from '../../../src/serve/serve.ts';
import { closeLauncher } from '../../../src/verbs/launcher.ts';
import { refuseRun, stagePublished } from '../../../src/verbs/publish/run-published.ts';
import { publishScript, withdrawVersion } from '../../../src/verbs/publish/publish.ts';
import { PublishWorld } from '../../publish/world.ts';
import { ROOT } from '../../support/support.ts';

afterAll(closeLauncher);

/** A server of a project, and a client of it. */
async function served(world: PublishWorld) {
  const lines: string[] = [];
  const serving = await serve({
    cwd: world.cwd,
    host: '127.0.0.1',
    port: 0,
    drainMs: 0,
    onLog: line => lines.push(line),
  });
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= serving.stop());
  onTestFinished(stop);
  const { origin, hash } = new URL(serving.address);
  const authorization = `Bearer ${hash.slice('#secret='.length)}`;
  const ask = (place: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${origin}${place}`, { ...init, headers: { authorization, ...init.headers } });
  const json = async <Value>(place: string, init?: RequestInit): Promise<Value> =>
    (await (await ask(place, init)).json()) as Value;
  return { ask, json, lines, stop };
}

/** Reads the stream of a run until the server ends it. */
async function viewsOf(response: Response): Promise<ScriptRunView[]> {
  const text = await response.text();
  return [...text.matchAll(/^event: view\ndata: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as ScriptRunView);
}

function formOf(parts: Readonly<Record<string, string | File>>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(parts)) form.set(name, value);
  return form;
}

test('a version that became current during an upload runs only for those whom it names', async () => {
  const world = new PublishWorld();
  await publishScript('tool', { cwd: world.cwd });
  const { ask, json } = await served(world);
  const { token } = await json<{ token: string }>('/v1/tokens', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ role: 'user', name: 'someone' }),
  });
  const uploads = path.join(world.home, 'server', 'uploads');
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('--x\r\ncontent-disposition: form-data; name="word"\r\n\r\n');
    await expect.poll(() => existsSync(uploads) && readdirSync(uploads).length).toBe(1);
    world.script({ version: '2.0.0', who: ['ops'] });
    await publishScript('tool', { cwd: world.cwd });
    yield Buffer.from('hello\r\n--x--\r\n');
  }
  const response = await ask('/v1/scripts/echo/runs', {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'multipart/form-data; boundary=x' },
    body: Readable.toWeb(Readable.from(body())) as unknown as BodyInit,
    duplex: 'half',
  } as RequestInit);
  expect([response.status, await response.json()]).toMatchObject([404, { error: { code: 'no_script' } }]);
});

describe('a script that a user may not run', () => {
  const HIDDEN = { code: 'no_script', message: 'There is no such script.' };

  /** What a new user gets who shows or runs a script. */
  async function asUser({ ask, json }: Awaited<ReturnType<typeof served>>) {
    const { token } = await json<{ token: string }>('/v1/tokens', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ role: 'user', name: 'someone' }),
    });
    const headers = { authorization: `Bearer ${token}` };
    const answered = async (place: string, init: RequestInit): Promise<unknown> => {
      const response = await ask(place, { ...init, headers: { ...headers, ...init.headers } });
      const { error } = (await response.json()) as { error?: { code: string; message: string } };
      return error ? [response.status, { code: error.code, message: error.message }] : response.status;
    };
    return {
      show: (name: string) => answered(`/v1/scripts/${name}`, {}),
      run: (name: string, version?: string, headers = {}, word = 'hello') => {
        const query = version === undefined ? '' : `?version=${version}`;
        return answered(`/v1/scripts/${name}/runs${query}`, { method: 'POST', headers, body: formOf({ word }) });
      },
    };
  }

  test('is the same as an unknown script in every answer', async () => {
    const world = new PublishWorld();
    const publish = async (changes: Record<string, unknown>, draft = false) => {
      world.script(changes);
      await publishScript('tool', { cwd: world.cwd, draft });
    };
    const of = (name: string, version = '1.0.0') => ({ name, version });
    await publish({ ...of('hidden'), who: ['ops'] });
    await publish({ ...of('hidden', '2.0.0'), who: ['ops'] });
    await publish(of('replaced'));
    await publish(of('replaced', '2.0.0'));
    await publish(of('replaced', '3.0.0-rc.1'), true);
    await publish(of('narrowed'));
    await publish({ ...of('narrowed', '2.0.0'), who: ['ops'] });
    await publish(of('drafted'), true);
    await publish(of('withdrawn'));
    await withdrawVersion('withdrawn', '1.0.0', { cwd: world.cwd });
    await publish(of('foreign'));
    const journalOf = (name: string): string => path.join(world.home, 'server/scripts', name, 'journal.ndjson');
    copyFileSync(journalOf('hidden'), journalOf('foreign'));
    const user = await asUser(await served(world));
    const answers = [
      await user.show('hiden'),
      await user.run('hiden'),
      await user.run('hiden', '1.0.0'),
      ...(await Promise.all(
        ['hidden', 'narrowed', 'drafted', 'withdrawn', 'foreign'].flatMap(name => [
          user.show(name),
          user.run(name),
          user.run(name, '1.0.0'),
          user.run(name, '2.0.0'),
          user.run(name, '9.9.9'),
        ]),
      )),
      await user.run('replaced', '1.0.0'),
      await user.run('replaced', '3.0.0-rc.1'),
      await user.run('replaced', '9.9.9'),
    ];
    expect(answers).toEqual(answers.map(() => [404, HIDDEN]));
    expect([await user.show('replaced'), await user.run('replaced'), await user.run('replaced', '2.0.0')]).toEqual([
      200, 202, 202,
    ]);
  });

  test('still answers an order that is sent again after its version was replaced', async () => {
    const world = new PublishWorld();
    await publishScript('tool', { cwd: world.cwd });
    const user = await asUser(await served(world));
    const key = { 'idempotency-key': 'one' };
    expect(await user.run('echo', '1.0.0', key)).toBe(202);
    world.script({ version: '2.0.0' });
    await publishScript('tool', { cwd: world.cwd });
    expect(await user.run('echo', '1.0.0', key)).toBe(202);
    expect(await user.run('echo', '1.0.0', { 'idempotency-key': 'two' })).toEqual([404, HIDDEN]);
    expect(await user.run('echo', '1.0.0')).toEqual([404, HIDDEN]);
  });
});

test('the token that published a draft can run it by its version, and no other one', async () => {
  const world = new PublishWorld();
  const { ask, json } = await served(world);
  const runner = async (): Promise<Record<string, string>> => {
    const { token } = await json<{ token: string }>('/v1/tokens', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ role: 'runner', name: 'someone' }),
    });
    return { authorization: `Bearer ${token}` };
  };
  const [author, other] = [await runner(), await runner()];
  const folder = new FormData();
  for (const name of ['script.yaml', 'run.sh'])
    folder.append('file', new File([readFileSync(path.join(world.folder, name))], name));
  expect((await ask('/v1/scripts?draft=true', { method: 'POST', headers: author, body: folder })).status).toBe(200);
  const tried = (headers: Record<string, string>): Promise<Response> =>
    ask('/v1/scripts/echo/runs?version=1.0.0', { method: 'POST', headers, body: formOf({ word: 'hello' }) });
  expect((await tried(author)).status).toBe(202);
  const refused = await tried(other);
  expect([refused.status, await refused.json()]).toMatchObject([404, { error: { code: 'not_offered' } }]);
});

test('tells only operators which worker lost a run', async () => {
  const world = new PublishWorld();
  const { cwd, home } = world;
  await publishScript('tool', { cwd });
  const { ask, json } = await served(world);
  const personOf = async (role: string) => {
    const { created, token } = await json<{ created: { id: string }; token: string }>('/v1/tokens', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ role, name: role }),
    });
    return { by: `token:${created.id}`, init: { headers: { authorization: `Bearer ${token}` } } };
  };
  const [user, other, viewer] = [await personOf('user'), await personOf('user'), await personOf('viewer')];
  const { runId } = stagePublished({ name: 'echo', by: user.by, cwd });
  refuseRun(home, runId, new Fault('worker_lost', 'It was lost.'), 'Worker w1 was lost.');
  const place = `/v1/script-runs/${runId}`;
  expect(await json(place, user.init)).toMatchObject({
    state: 'lost',
    error_summary: 'It was lost.',
    operator_note: null,
  });
  expect((await ask(place, other.init)).status).toBe(404);
  expect(await json(place, viewer.init)).toMatchObject({ operator_note: 'Worker w1 was lost.' });
  const streamed = await viewsOf(await ask(`${place}/events`, user.init));
  expect(streamed.map(({ operator_note: note }) => note)).toEqual([null]);
});

describe('the server', () => {
  test('publishes an uploaded folder, runs it with a form, and offers its files', async () => {
    const world = new PublishWorld();
    const { ask, json } = await served(world);
    const script = {
      schema_version: 'published-script.v1',
      name: 'count',
      version: '1.0.0',
      title: 'Count',
      script: 'run.sh',
    };
    const inputs = [
      { kind: 'number', name: 'least', label: 'Least', default: 1 },
      { kind: 'file', name: 'list', label: 'List', required: true },
    ];
    const folder = new FormData();
    folder.append('file', new File([JSON.stringify({ ...script, inputs })], 'script.yaml'));
    folder.append('file', new File([COUNTS], 'run.sh'));
    expect(await json('/v1/scripts', { method: 'POST', body: folder })).toMatchObject({
      name: 'count',
      state: 'published',
    });
    expect(await json('/v1/scripts')).toMatchObject({
      scripts: [{ name: 'count', title: 'Count', inputs }],
      all: [{ name: 'count', current: '1.0.0' }],
    });

    const form = formOf({ least: '2', list: new File(['a\nb\n'], '../../x\u202e.csv') });
    const ordered = await ask('/v1/scripts/count/runs', { method: 'POST', body: form });
    expect(ordered.status).toBe(202);
    const { run_id: runId } = (await ordered.json()) as { run_id: string };
    const views = await viewsOf(await ask(`/v1/script-runs/${runId}/events`));
    expect(views.at(-1)).toMatchObject({
      state: 'succeeded',
      html_output: '<p>2</p>',
      files: [{ path: 'sub/count.txt' }],
    });
    expect(await json('/v1/script-runs')).toMatchObject({ runs: [{ run_id: runId, state: 'succeeded' }], next: null });

    const file = await ask(`/v1/script-runs/${runId}/files/sub%2Fcount.txt`);
    expect(file.headers.get('content-disposition')).toMatch(/^attachment; filename="count.txt"/);
    expect(file.headers.get('x-content-type-options')).toBe('nosniff');
    expect(file.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
    expect(await file.text()).toBe('2\n');
    const archive = await ask(`/v1/script-runs/${runId}/archive`);
    expect(archive.headers.get('content-type')).toBe('application/zip');
    expect((await archive.arrayBuffer()).byteLength).toBe(Number(archive.headers.get('content-length')));
    for (const name of ['..%2Fresult.json', '..%2F..%2F..%2F..%2Fetc%2Fpasswd', 'nothing'])
      expect((await ask(`/v1/script-runs/${runId}/files/${name}`)).status).toBe(404);
    expect(readdirSync(path.join(world.home, 'server', 'uploads'))).toEqual([]);
  });

  test('says what is wrong with each field, and keeps no upload', async () => {
    const world = new PublishWorld();
    world.script({ inputs: [{ kind: 'date', name: 'day', label: 'Day', required: true }] });
    await publishScript('tool', { cwd: world.cwd });
    const { ask, json } = await served(world);
    const body = formOf({ day: 'tomorrow', file: new File(['x'], 'x') });
    const refused = await ask('/v1/scripts/echo/runs', { method: 'POST', body });
    expect(refused.status).toBe(422);
    expect(await refused.json()).toMatchObject({
      error: {
        code: 'bad_inputs',
        fields: [
          { field: 'file', message: 'This input does not exist.' },
          { field: 'day', message: 'Use a date such as 2026-01-31.' },
        ],
      },
    });
    expect(readdirSync(path.join(world.home, 'server', 'uploads'))).toEqual([]);
    expect(await json('/v1/scripts/nothing')).toMatchObject({ error: { code: 'no_script' } });
    expect((await ask('/v1/scripts/nothing/runs', { method: 'POST', body: formOf({ a: 'b' }) })).status).toBe(404);
  });

  test.each([
    ['no boundary', { 'content-type': 'multipart/form-data' }, 'x'],
    ['another type', { 'content-type': 'text/plain' }, 'x'],
    [
      'no end',
      { 'content-type': 'multipart/form-data; boundary=b' },
      '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\nx',
    ],
    ['a part without a name', { 'content-type': 'multipart/form-data; boundary=b' }, '--b\r\nx: y\r\n\r\nx\r\n--b--'],
    ['endless headers', { 'content-type': 'multipart/form-data; boundary=b' }, `--b\r\n${'x: y\r\n'.repeat(5_000)}`],
    ['a field twice', { 'content-type': 'multipart/form-data; boundary=b' }, `${part('a')}${part('a')}--b--`],
  ])('refuses a form with %s', async (_, headers, body) => {
    const world = new PublishWorld();
    await publishScript('tool', { cwd: world.cwd });
    const { ask } = await served(world);
    const refused = await ask('/v1/scripts/echo/runs', { method: 'POST', headers, body });
    expect(refused.status).toBe(422);
    const uploads = path.join(world.home, 'server', 'uploads');
    expect(existsSync(uploads) ? readdirSync(uploads) : []).toEqual([]);
  });

  test.each(['../escape.sh', '/etc/cron.d/x', 'a\\b'])('refuses a folder with the file %j', async name => {
    const world = new PublishWorld();
    const { ask } = await served(world);
    const body = `--b\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\n\r\nx\r\n--b--`;
    const headers = { 'content-type': 'multipart/form-data; boundary=b' };
    expect((await ask('/v1/scripts', { method: 'POST', headers, body })).status).toBe(422);
    expect(existsSync(path.join(world.home, 'server', 'escape.sh'))).toBe(false);
  });

  test('stops a run, starts what a dead server left waiting, and shows progress', async () => {
    const world = new PublishWorld();
    world.file('run.sh', 'echo "PROGRESS 40% half of it"; sleep 60\n');
    await publishScript('tool', { cwd: world.cwd });
    const { runId } = stagePublished({ name: 'echo', cwd: world.cwd, by: 'you' });
    const { ask, json } = await served(world);
    const events = await ask(`/v1/script-runs/${runId}/events`);
    const reader = (events.body as ReadableStream<Uint8Array<ArrayBuffer>>)
      .pipeThrough(new TextDecoderStream())
      .getReader();
    let seen = '';
    while (!seen.includes('"percent":40')) seen += (await reader.read()).value ?? '';
    expect(seen).toContain('"text":"half of it"');
    expect(await json(`/v1/script-runs/${runId}/cancel`, { method: 'POST' })).toEqual({ stopped: true });
    while (!seen.includes('event: ended')) seen += (await reader.read()).value ?? '';
    expect(await json(`/v1/script-runs/${runId}`)).toMatchObject({ state: 'stopped' });
    expect(await json(`/v1/script-runs/${runId}/cancel`, { method: 'POST' })).toEqual({ stopped: false });
  });
});

describe('a server', () => {
  test('takes a form once if it is sent again with its key, also after a restart', async () => {
    const world = new PublishWorld();
    await publishScript('tool', { cwd: world.cwd });
    const ordered = async ({ ask }: Awaited<ReturnType<typeof served>>, word: string) => {
      const init = { method: 'POST', headers: { 'idempotency-key': 'one' }, body: formOf({ word }) };
      const response = await ask('/v1/scripts/echo/runs', init);
      return { status: response.status, ...((await response.json()) as { run_id: string }) };
    };
    const first = await served(world);
    const { run_id: runId } = await ordered(first, 'hello');
    expect(await ordered(first, 'hello')).toMatchObject({ status: 202, run_id: runId });
    await first.stop();
    const second = await served(world);
    expect(await ordered(second, 'hello')).toMatchObject({ status: 202, run_id: runId });
    expect(await ordered(second, 'other')).toMatchObject({ status: 409, error: { code: 'run_exists' } });
    expect(await second.json('/v1/script-runs')).toMatchObject({ runs: [{ run_id: runId }] });
  });

  test('completes the run of a server that was killed, and its user sees that it was stopped', async () => {
    const world = new PublishWorld();
    world.file('run.sh', 'sleep 60\n');
    await publishScript('tool', { cwd: world.cwd });
    const { runId } = stagePublished({ name: 'echo', cwd: world.cwd, by: 'you' });
    const killed = spawn(process.execPath, [path.join(ROOT, 'dist/proctor.js'), 'serve', '--listen', '127.0.0.1:0'], {
      cwd: world.cwd,
      stdio: 'ignore',
    });
    const journal = path.join(world.home, 'runs/script', runId, 'journal.ndjson');
    await expect
      .poll(() => existsSync(journal) && readFileSync(journal, 'utf8'), { timeout: 30_000 })
      .toContain('"started"');
    const gone = new Promise(resolve => killed.once('exit', resolve));
    killed.kill('SIGKILL');
    await gone;
    const { json } = await served(world);
    await expect
      .poll(() => json(`/v1/script-runs/${runId}`), { timeout: 30_000 })
      .toMatchObject({
        state: 'stopped',
        correlation_id: expect.stringMatching(/^\w+$/),
        error_summary: expect.stringContaining('Reference: '),
      });
    expect(existsSync(journal)).toBe(false);
    expect(await json(`/v1/script-runs`)).toMatchObject({ runs: [{ run_id: runId, state: 'stopped' }] });
  });

  test('removes what is left of an order that a killed server did not store', () => {
    const world = new PublishWorld();
    const folder = path.join(world.home, 'server/script-runs/script_20260106_120000_0123456789ab');
    mkdirSync(path.join(folder, 'input'), { recursive: true });
    const old = new Date('2026-01-06T12:00:00Z');
    utimesSync(folder, old, old);
    const log = new ServerLog(() => undefined);
    expect(openScriptOrders(world.home, log)).toEqual({ unbegun: [], begun: [], sent: [], repeats: [] });
    expect(existsSync(folder)).toBe(false);
  });
});

function part(name: string): string {
  return `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\nx\r\n`;
}

const COUNTS = `mkdir -p output/sub
wc -l < input/list.csv > output/sub/count.txt
grep -q '"least": 2' input/inputs.json || exit 1
printf '{"contract_version":1,"status":"succeeded","html_output":"<p>2</p>","error_summary":null,"artifacts":[]}' > result.json
`;

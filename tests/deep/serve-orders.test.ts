import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createOrder, noteOrder } from '../../src/serve/orders/order-folder.ts';
import { suiteOrderOf, type SuiteOrderBody } from '../../src/serve/orders/suite-order.ts';
import { resumeSuite } from '../../src/verbs/resume-suite.ts';
import { layOutRemoteSuite } from '../../src/verbs/remote-suite.ts';
import { Agent, answersWell } from '../run/suite/agent.ts';
import { proctor, temporaryFolder } from '../support/support.ts';
import {
  orderingServer as served,
  type OrderingServer as ServedProject,
  stoppableServer as servedUntilStopped,
} from '../serve/orders/ordering-server.ts';

const CASES = { name: 'cases.jsonl', text: '{"id":"one","input":{"user":"1"}}\n{"id":"two","input":{"user":"2"}}\n' };

/** A suite of two cases for an agent. */
const orderFor = (url: string, over: Partial<SuiteOrderBody> = {}): SuiteOrderBody => ({
  as: 'new',
  cases: CASES,
  base_url: url,
  ...over,
});

const post = (project: ServedProject, at: string, body: unknown, headers: Record<string, string> = {}) =>
  project.json(at, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

/** Waits until the process of an ordered suite has ended. */
async function untilOver(project: ServedProject, id: string): Promise<void> {
  const ended = `"event":"order_ended","run_id":"${id}","how":"finished"`;
  await expect.poll(() => project.log.join(''), { timeout: 60_000 }).toContain(ended);
  expect((await project.json(`/v1/runs/${id}`)).body).toMatchObject({ state: 'finished', position: null });
}

/** An agent that answers when it is released. */
function heldAgent() {
  let release = (): void => undefined;
  const released = new Promise<void>(resolve => (release = resolve));
  const held: typeof answersWell = (...asked) => void released.then(() => answersWell(...asked));
  return { agent: new Agent({ one: held, two: held }), release };
}

const keysOf = ({ seen }: Agent): string[] => seen.map(({ headers }) => String(headers['idempotency-key']));

describe('an ordered suite', () => {
  test('runs in a process of its own, is judged, and verifies', async () => {
    const cwd = temporaryFolder();
    const agent = new Agent();
    const project = await served(cwd);
    const { status, body } = await post(project, '/v1/runs', orderFor(await agent.start()));
    expect(status).toBe(202);
    await untilOver(project, body.run_id);
    expect(existsSync(path.join(cwd, '.proctor/runs/new', body.run_id, 'evaluation.seal.json'))).toBe(true);
    expect(proctor(['verify', path.join(cwd, '.proctor/runs/new', body.run_id)], { cwd })).toMatchObject({ code: 0 });
    expect(keysOf(agent)).toHaveLength(2);
    const run = JSON.parse(
      readFileSync(path.join(cwd, '.proctor/runs/new', body.run_id, 'run.json'), 'utf8'),
    ) as object;
    expect(run).toMatchObject({ cases_path: 'cases.jsonl' });
  });

  test('is taken once if a client repeats it with its key', async () => {
    const cwd = temporaryFolder();
    const project = await served(cwd);
    const order = orderFor(await new Agent().start());
    const headers = { 'idempotency-key': 'k1' };
    const [first, second] = await Promise.all([
      post(project, '/v1/runs', order, headers),
      post(project, '/v1/runs', order, headers),
    ]);
    expect(second.body.run_id).toBe(first.body.run_id);
    const other = await post(project, '/v1/runs', { ...order, retries: 3 }, headers);
    expect([other.status, other.body.error?.code]).toEqual([409, 'run_exists']);
    await untilOver(project, first.body.run_id);
    expect(readdirSync(path.join(cwd, '.proctor/runs/new'))).toHaveLength(1);
  });

  test('is refused with the sentence of the command line, and leaves nothing', async () => {
    const cwd = temporaryFolder();
    const project = await served(cwd);
    const url = await new Agent().start();
    const refusalOf = async (over: object) => {
      const { status, body } = await post(project, '/v1/runs', { ...orderFor(url), ...over });
      return [status, body.error?.message];
    };
    expect(await refusalOf({ retries: 11 })).toEqual([422, 'Retries must be from 0 to 10.']);
    expect(await refusalOf({ cases: { name: 'cases.txt', text: '' } })).toEqual([
      422,
      expect.stringContaining('cases.txt is not a supported case file'),
    ]);
    expect(await refusalOf({ only: ['three'] })).toEqual([422, expect.stringContaining('three')]);
    expect(await refusalOf({ base_url: `${url}?key=1` })).toEqual([422, expect.stringContaining('has a query')]);
    expect(await refusalOf({ headers: [{ name: 'authorization', env: 'HOME' }] })).toEqual([
      422,
      expect.stringContaining('does not offer the variable HOME'),
    ]);
    expect(await refusalOf({ cases: { name: '../x.jsonl', text: '' } })).toEqual([
      422,
      expect.stringContaining('cases.name must be a file name'),
    ]);
    expect(readdirSync(path.join(cwd, '.proctor/server/orders'))).toEqual([]);
    expect(existsSync(path.join(cwd, '.proctor/runs/new'))).toBe(false);
  });

  test.each([
    ['kind: command', 'kind: command\nrun: [cat]\n'],
    ['kind: function', 'kind: function\nmodule: ./x.mjs\n'],
    ['start', 'kind: proctor\nurl: http://127.0.0.1:1\nstart: { run: [cat] }\n'],
    ['version.run', 'kind: proctor\nurl: http://127.0.0.1:1\nversion: { run: [cat] }\n'],
    ['run', 'kind: mcp-tool\nrun: [cat]\ntool: t\narguments: {}\n'],
  ])('is refused if its target file starts a program by %s', async (key, text) => {
    const project = await served(temporaryFolder());
    const order = { as: 'new', cases: CASES, target: { name: 'target.yaml', text } };
    const { status, body } = await post(project, '/v1/runs', order);
    expect([status, body.error?.message]).toEqual([
      422,
      `The target file has ${key}, which starts a program on the server. Use an API.`,
    ]);
  });

  test('asks only the origins that the operator allows, and sends the secrets that the operator offers', async () => {
    const agent = new Agent();
    const url = await agent.start();
    const ordering = { origins: [url], secrets: { AGENT_TOKEN: 'a-secret-token' } };
    const environment = { ...process.env, AGENT_TOKEN: 'a-secret-token' };
    const project = await served(temporaryFolder(), { ordering: { ...ordering, environment } });
    const elsewhere = await post(project, '/v1/runs', orderFor('http://127.0.0.1:9'));
    expect([elsewhere.status, elsewhere.body.error?.message]).toEqual([422, expect.stringContaining('does not allow')]);
    const headers = [{ name: 'x-token', env: 'AGENT_TOKEN' }];
    const { body } = await post(project, '/v1/runs', orderFor(url, { headers }));
    await untilOver(project, body.run_id);
    expect(agent.seen.map(({ headers: sent }) => sent['x-token'])).toEqual(['a-secret-token', 'a-secret-token']);
  });

  test('can be sent as a form with files', async () => {
    const agent = new Agent();
    const project = await served(temporaryFolder());
    const form = new FormData();
    form.set('order', JSON.stringify({ as: 'baseline', base_url: await agent.start() }));
    form.set('cases', new File([CASES.text], 'cases.jsonl'));
    const { status, body } = await project.json('/v1/runs', { method: 'POST', body: form });
    expect(status).toBe(202);
    await untilOver(project, body.run_id);
    expect(agent.seen).toHaveLength(2);
  });

  test('answers with a script that the client sends', async () => {
    const project = await served(temporaryFolder());
    const script = {
      name: 'answer.mjs',
      text: "import { readFileSync, writeFileSync } from 'node:fs';\nconsole.log('hello');\n",
    };
    const { status, body } = await post(project, '/v1/runs', { as: 'new', cases: CASES, script });
    expect([status, body.error]).toEqual([202, undefined]);
    await untilOver(project, body.run_id);
  });
});

describe('the queue', () => {
  test('shows positions, starts the oldest first, and lets clients cancel and resume', async () => {
    const { agent, release } = heldAgent();
    const project = await served(temporaryFolder(), { ordering: { runs: 1 } });
    const url = await agent.start();
    const order = async (run_id: string) => (await post(project, '/v1/runs', orderFor(url, { run_id }))).body;
    expect(await order('first')).toMatchObject({ state: 'running', position: null });
    expect(await order('second')).toMatchObject({ state: 'waiting', position: 1 });
    expect(await order('third')).toMatchObject({ state: 'waiting', position: 2 });
    const row = async (id: string) => (await project.json(`/v1/runs/${id}`)).body;
    expect(await row('third')).toMatchObject({ state: 'waiting', position: 2 });
    expect((await post(project, '/v1/runs/second/cancel', {})).body).toMatchObject({
      state: 'ended',
      how: 'cancelled',
    });
    expect(await row('third')).toMatchObject({ state: 'waiting', position: 1 });
    await expect.poll(() => agent.seen.length).toBe(2);
    expect((await post(project, '/v1/runs/first/cancel', {})).body).toMatchObject({ state: 'ended', how: 'cancelled' });
    expect(await row('first')).toMatchObject({ state: 'interrupted' });
    release();
    await untilOver(project, 'third');
    for (const id of ['first', 'second']) {
      expect((await post(project, `/v1/runs/${id}/resume`, {})).status).toBe(202);
      await untilOver(project, id);
    }
    expect(new Set(keysOf(agent)).size).toBe(agent.seen.length);
  });

  test('accepts only so many orders of one identity', async () => {
    const { agent, release } = heldAgent();
    const project = await served(temporaryFolder(), { ordering: { runs: 1, waitingPerIdentity: 1 } });
    const order = orderFor(await agent.start());
    const ids = [];
    for (let count = 0; count < 2; count++) ids.push((await post(project, '/v1/runs', order)).body.run_id);
    const response = await project.ask('/v1/runs', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(order),
    });
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '30']);
    release();
    for (const id of ids) await untilOver(project, id);
  });
});

describe('a new server', () => {
  test('watches a suite that survived the server, and starts what waited', async () => {
    const { agent, release } = heldAgent();
    const cwd = temporaryFolder();
    const url = await agent.start();
    const before = await servedUntilStopped(cwd, { ordering: { runs: 1 }, drainMs: 100 });
    for (const run_id of ['first', 'second']) await post(before, '/v1/runs', orderFor(url, { run_id }));
    await expect.poll(() => agent.seen.length).toBe(2);
    await before.stop();
    const project = await served(cwd, { ordering: { runs: 1 } });
    const states = async (id: string) => (await project.json(`/v1/runs/${id}`)).body.state;
    expect([await states('first'), await states('second')]).toEqual(['running', 'waiting']);
    release();
    await untilOver(project, 'second');
    expect(await states('first')).toBe('finished');
    expect(new Set(keysOf(agent)).size).toBe(4);
  });

  test('interrupts suites if the operator says so, and resumes them', async () => {
    const { agent, release } = heldAgent();
    const cwd = temporaryFolder();
    const before = await servedUntilStopped(cwd, { ordering: { stopsRuns: true }, drainMs: 30_000 });
    await post(before, '/v1/runs', orderFor(await agent.start(), { run_id: 'first' }));
    await expect.poll(() => agent.seen.length).toBe(2);
    await before.stop();
    release();
    const project = await served(cwd);
    await untilOver(project, 'first');
    expect(new Set(keysOf(agent)).size).toBe(agent.seen.length);
  });

  /** Stores what a server had written when it was killed. */
  const instants: [string, (world: KilledWorld) => void | Promise<void>, 'runs' | 'is forgotten'][] = [
    ['before its files', ({ folder }) => mkdirSync(folder), 'is forgotten'],
    [
      'before the line `ordered`',
      ({ folder }) => {
        mkdirSync(path.join(folder, 'files'), { recursive: true });
        writeFileSync(path.join(folder, 'journal.ndjson'), '', { mode: 0o600 });
      },
      'is forgotten',
    ],
    ['after the line `ordered`', world => store(world), 'runs'],
    [
      'after an empty run folder',
      world => {
        store(world);
        mkdirSync(world.run, { recursive: true });
      },
      'runs',
    ],
    [
      'after an empty journal of the run',
      world => {
        store(world);
        mkdirSync(world.run, { recursive: true });
        writeFileSync(path.join(world.run, 'journal.ndjson'), '', { mode: 0o600 });
      },
      'runs',
    ],
    ['after the run folder', laidOut, 'runs'],
    [
      'after the line `laid`',
      async world => {
        await laidOut(world);
        noteOrder(world.folder, { is: 'laid' });
      },
      'runs',
    ],
    [
      'after the line `begun`',
      async world => {
        await laidOut(world);
        noteOrder(world.folder, { is: 'laid' });
        noteOrder(world.folder, { is: 'begun', at: '2026-01-06T12:00:00.000Z' });
      },
      'runs',
    ],
    [
      'after the line `started` of a process that is dead',
      async world => {
        await laidOut(world);
        noteOrder(world.folder, { is: 'laid' });
        noteOrder(world.folder, { is: 'begun', at: '2026-01-06T12:00:00.000Z' });
        noteOrder(world.folder, { is: 'started', owner: { pid: 1, startTicks: 1, bootId: 'earlier' } });
      },
      'runs',
    ],
    [
      'after the seal of the run, before it was judged',
      async world => sealed(world, ['evaluation.json', 'evaluation.seal.json']),
      'runs',
    ],
    ['between the evaluation and its seal', async world => sealed(world, ['evaluation.seal.json']), 'runs'],
    ['before the line `ended`', async world => sealed(world, []), 'runs'],
  ];

  test.each(instants)('continues an order whose server was killed %s', async (_, prepare, then) => {
    const agent = new Agent();
    const world = killedWorld(await agent.start());
    await prepare(world);
    const project = await served(world.cwd);
    if (then === 'is forgotten') {
      expect(existsSync(world.folder)).toBe(false);
      return;
    }
    await untilOver(project, 'r1');
    expect(keysOf(agent)).toHaveLength(2);
    expect(existsSync(path.join(world.run, 'evaluation.seal.json'))).toBe(true);
    expect(proctor(['verify', world.run], { cwd: world.cwd })).toMatchObject({ code: 0 });
  });

  test('never starts an order that this user did not store here, and reports it', async () => {
    const agent = new Agent();
    const world = killedWorld(await agent.start());
    store(world);
    const journal = path.join(world.folder, 'journal.ndjson');
    const line = readFileSync(journal, 'utf8').replace(/\t.*/, `\t${'A'.repeat(43)}`);
    rmSync(journal);
    writeFileSync(journal, line, { mode: 0o600 });
    const project = await served(world.cwd);
    expect(project.log.join('')).toContain('"event":"foreign_order","run_id":"r1"');
    expect(existsSync(world.run)).toBe(false);
    expect(agent.seen).toEqual([]);
  });

  test('does not start while another server of the project runs', async () => {
    const cwd = temporaryFolder();
    await served(cwd);
    await expect(served(cwd)).rejects.toThrow('Another server');
  });
});

interface KilledWorld {
  readonly cwd: string;
  /** The folder of the order. */
  readonly folder: string;
  /** The run folder. */
  readonly run: string;
  readonly order: ReturnType<typeof suiteOrderOf>;
}

function killedWorld(url: string): KilledWorld {
  const cwd = temporaryFolder();
  const home = path.join(cwd, '.proctor');
  mkdirSync(path.join(home, 'runs'), { recursive: true, mode: 0o700 });
  mkdirSync(path.join(home, 'server', 'orders'), { recursive: true, mode: 0o700 });
  const order = suiteOrderOf(orderFor(url, { run_id: 'r1' }), 'you', null);
  return { cwd, folder: path.join(home, 'server/orders/r1'), run: path.join(home, 'runs/new/r1'), order };
}

function store({ folder, order: { files, ...order } }: KilledWorld): void {
  const { kind, by, key, digest, input } = order;
  createOrder(folder, files, { is: 'ordered', at: '2026-01-06T12:00:00.000Z', kind, by, key, digest, input });
}

/** A finished run whose process died before it had written these files. */
async function sealed(world: KilledWorld, missing: readonly string[]): Promise<void> {
  await laidOut(world);
  noteOrder(world.folder, { is: 'laid' });
  noteOrder(world.folder, { is: 'begun', at: '2026-01-06T12:00:00.000Z' });
  await resumeSuite('new/r1', { cwd: world.cwd, variable: () => undefined });
  for (const name of missing) rmSync(path.join(world.run, name));
}

async function laidOut(world: KilledWorld): Promise<void> {
  store(world);
  const { suite } = world.order.input as { suite: Omit<Parameters<typeof layOutRemoteSuite>[0], 'runId' | 'folder'> };
  const remote = { ...suite, runId: 'r1', folder: path.join(world.folder, 'files') };
  await layOutRemoteSuite(remote, { secrets: {}, origins: [] }, world.cwd);
}

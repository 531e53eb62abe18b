/** Hostile text on the pages of runs that still run, on the queue, in logs and in what a person verifies. */
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { gitIn } from '../../stand-ins/git.ts';
import { placeAgent } from '../../stand-ins/place-agent.ts';
import { MemoryQueue } from '../../src/queue/memory.ts';
import { request } from '../conformance/queue.ts';
import { launch } from '../reports/browser.ts';
import { Agent, answersWell } from '../run/suite/agent.ts';
import { Place, type Started, until } from '../support/runs.ts';
import { type ServedProject, servedUntilStopped } from '../support/serve.ts';
import { Counting, expectCalm, showed, TEXT, watched } from './hostile-pages.ts';
import { badLooks } from './looks.ts';

const TAG = '<img src=x onerror=top.hit=1>';
const WORD = 'w'.repeat(5_000);
const HOSTILE = `${TEXT} [a](javascript:top.hit=1) ${WORD}`;
/** Without controls, for texts that may not contain them. */
const LINE = `${TEXT.replace(/[\u0000-\u001f]/g, '')} ${WORD}`;
const LONG_ID = `case-${'9'.repeat(60)}`;

const world = new Place();
const started: Started[] = [];
/** Holds its answers to the case `two`. */
const api = new Agent({
  one: (_, response) => response.writeHead(500).end(HOSTILE),
  two: () => undefined,
  [LONG_ID]: answersWell,
});
let browser: Browser;
let project: ServedProject;
/** A server that must not get a request. */
let trap: Counting;
const runs = { script: '', agent: '', failed: '' };
let correlationId: string;
const here = () => ({ browser, project, trap });

beforeAll(async () => {
  browser = await launch();
  trap = await Counting.start();
  runs.failed = await ended([
    'run',
    'script',
    world.file(`a${TAG}.py`, `raise Exception(${JSON.stringify(HOSTILE)})\n`),
  ]);
  runs.script = await running(['run', 'script', world.file('slow.sh', SLOW)]);
  runs.agent = await running(agentCommand(), {
    PATH: `${bin}:${process.env['PATH']}`,
    ANTHROPIC_API_KEY: 'an-unused-key',
  });
  await runningSuite();
  project = await servedUntilStopped(world.cwd, { team: { queue: await hostileQueue() } });
  const { body } = await project.json(`/v1/runs/${runs.failed}/log`);
  correlationId = (body as { correlation_id: string }).correlation_id;
});
afterEach(() => Promise.all(browser.contexts().map(context => context.close())));
afterAll(async () => {
  for (const one of started) one.kill('SIGINT');
  await Promise.all(started.map(one => one.ended));
  await api.stop();
  await browser.close();
  await project.stop();
  trap.close();
  world.remove();
});

async function ended(args: readonly string[]): Promise<string> {
  const known = new Set(world.runFolders());
  const { stderr } = await world.start(args).ended;
  return newRun(known, stderr);
}

/** Starts a run that does not end by itself. */
async function running(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const known = new Set(world.runFolders());
  const one = world.start(args, env);
  started.push(one);
  await until('the run has a folder', () => world.runFolders().length > known.size || one.isOver);
  return newRun(known, one.stderr);
}

function newRun(known: ReadonlySet<string>, stderr: string): string {
  const folder = world.runFolders().find(one => !known.has(one));
  expect(folder, stderr).toBeDefined();
  return path.basename(folder ?? '');
}

const SLOW = `#!/bin/sh
cat <<'END'
${HOSTILE}
END
sleep 600
`;

const bin = path.join(world.cwd, 'bin');

/** A stand-in agent that prints hostile text and then hangs. */
function agentCommand(): readonly string[] {
  const repository = path.join(world.cwd, 'repository');
  world.file('repository/README.md', `${HOSTILE}\n`);
  world.file('bin/none', '');
  gitIn(repository, 'init', '-q', '-b', 'main');
  gitIn(repository, 'add', '--all');
  gitIn(repository, '-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '-q', '-m', 'a');
  placeAgent('claude', bin);
  const print = Buffer.from('cat README.md').toString('hex');
  const task = `${LINE} DO=say DO=sh:${print} DO=hang`;
  return ['run', 'agent', '--agent', 'claude', '--policy', 'edit', '--dir', repository, '--task', task];
}

/** A suite with a case that failed, one that is done, and one that waits for its answer. */
async function runningSuite(): Promise<void> {
  const [title, input] = [LINE.slice(0, 200), { user: HOSTILE, context: { [TAG]: TEXT } }];
  const expected = { contains: [TAG] };
  const cases = ['one', LONG_ID, 'two'].map(id => ({ id, suite: TAG, title, input, expected }));
  world.file('cases.json', JSON.stringify(cases));
  const words = ['run', 'suite', 'cases.json', '--base-url', await api.listen(), '--as', 'new', '--run-id', 'suite'];
  started.push(world.start([...words, '--retries', '0', '--concurrency', '1']));
  await until('the last case is asked', () => api.times('two') === 1);
}

async function hostileQueue(): Promise<MemoryQueue> {
  const queue = new MemoryQueue();
  await queue.offer([request('a'), request('b', { needs: 'x'.repeat(300) })]);
  const worker = { worker: LINE.slice(0, 200), protocols: [1], needs: ['http'], slots: 8, version: TAG };
  await queue.claim(worker, 1, { waitMs: 0 });
  return queue;
}

/** Views, and a text that each shows as it is. */
const VIEWS: Readonly<Record<string, () => readonly [address: string, shows: string]>> = {
  script: () => [`/runs/${runs.script}`, '<script>'],
  agent: () => [`/runs/${runs.agent}`, '<script>'],
  suite: () => ['/runs/suite', TAG],
  case: () => ['/runs/suite/cases/two', '<script>'],
  log: () => [`/logs/${correlationId}`, '<script>'],
  queue: () => ['/queue', '<script>'],
};

test.each(Object.entries(VIEWS))('is text, and the page is accessible and fits its window: %s', async (_, view) => {
  const [address, shows] = view();
  const seen = await showed(here(), address, await watched(here()));
  await seen.page.locator('main').getByText(shows).filter({ visible: true }).first().waitFor();
  await expectCalm(here(), seen, address);
  expect(await badLooks(seen.page)).toEqual([]);
});

test('is text in a document that a person verifies, and in the name of its file', async () => {
  const seen = await showed(here(), '/verify', await watched(here()));
  const document = { schema_version: 'published-script.v1', name: HOSTILE, [TEXT]: 1, [TAG]: 1, [WORD]: 1 };
  const name = `${TEXT.replaceAll('/', '')}${'n'.repeat(150)}.json`;
  const file = { name, mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(document)) };
  await seen.page.locator('input[type=file]').setInputFiles(file);
  await seen.page.getByRole('region', { name: 'Verdict' }).getByText('<script>').waitFor();
  await seen.page.locator('section#not-checked').getByText(TAG).first().waitFor();
  await expectCalm(here(), seen, '/verify');
  expect(await badLooks(seen.page)).toEqual([]);
});

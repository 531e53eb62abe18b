import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { gitIn } from '../../stand-ins/git.ts';
import { placeAgent } from '../../stand-ins/place-agent.ts';
import { launch, overflow, PHONE } from '../reports/browser.ts';
import { Agent, saying } from '../run/suite/agent.ts';
import { Place } from '../support/runs.ts';
import { type ServedProject, servedUntilStopped } from '../support/serve.ts';
import { Counting, expectCalm, showed, TEXT, watched } from './hostile-pages.ts';

const world = new Place();
let browser: Browser;
let project: ServedProject;
/** A server that must not get a request. */
let trap: Counting;
/** Ids of hostile runs, by kind or side. */
const runs: Record<string, string> = {};
let comparison: string;
const here = () => ({ browser, project, trap });

beforeAll(async () => {
  browser = await launch();
  trap = await Counting.start();
  publish();
  await ran('script', ['run', 'script', world.file(NAME, PRINTS)]);
  await ran('intent', ['run', 'intent', world.file('intent.json', INTENT)]);
  await ran('agent', agentCommand(), { PATH: `${bin}:${process.env['PATH']}`, ANTHROPIC_API_KEY: 'an-unused-key' });
  await ranSuites();
  plant();
  project = await servedUntilStopped(world.cwd);
  const sides = { candidate: runs['new'], baseline_run: runs['baseline'] };
  const compared = await post('/v1/comparisons', sides);
  comparison = (compared as { comparison: { comparison_id: string } }).comparison.comparison_id;
  await post('/v1/tokens', { name: `<img src=x onerror=top.hit=1>`, role: 'user' });
});
afterEach(() => Promise.all(browser.contexts().map(context => context.close())));
afterAll(async () => {
  await browser.close();
  await project.stop();
  trap.close();
  world.remove();
});

async function post(at: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  return (await project.json(at, { method: 'POST', headers, body: JSON.stringify(body) })).body;
}

/** Runs a command, and notes the run that it leaves. */
async function ran(kind: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<void> {
  const known = new Set(world.runFolders());
  const { stderr } = await world.start(args, env).ended;
  const folder = world.runFolders().find(one => !known.has(one));
  expect(folder, stderr).toBeDefined();
  runs[kind] = path.basename(folder ?? '');
}

const TAG = '<img src=x onerror=top.hit=1>';
const LINK = '[a](javascript:top.hit=1) <a href="javascript:top.hit=1">b</a>';
const NAME = `a${TAG}.py`;
/** Without controls, for texts that may not contain them. */
const LINE = `${TEXT.replace(/[\u0000-\u001f]/g, '')} ${LINK}`;

/** Long lines, many lines, NUL, a torn character, terminal sequences and hidden characters on both streams. */
const PRINTS = `import sys, proctor_tool
text = ${JSON.stringify(`${TEXT} ${LINK}`)}
print(text)
sys.stdout.buffer.write(b'\\x00' * 60_000 + b'\\xff\\xf0\\x9f\\n')
print(text + 'x' * 1_000_000)
print((chr(0x202e) * 3 + text + '\\n') * 2_000, file=sys.stderr)
open('output/page.html', 'w').write(text)
proctor_tool.succeed(text)
`;

const INTENT = JSON.stringify({
  goal: `Do <what> ${LINE}`,
  constraints: [`must be <b>${'x'.repeat(10_000)}`],
  files: [{ path: `a${TAG}.txt`, content: `${TEXT} ${LINK}` }],
  outputs: ['out/<svg onload=top.hit=1>'],
});

const bin = path.join(world.cwd, 'bin');

/** A stand-in agent that prints hostile text and leaves a hostile file. */
function agentCommand(): readonly string[] {
  const repository = path.join(world.cwd, 'repository');
  world.file('repository/README.md', `${TEXT}\n${LINK}\n`);
  world.file('bin/none', '');
  gitIn(repository, 'init', '-q', '-b', 'main');
  gitIn(repository, 'add', '--all');
  gitIn(repository, '-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '-q', '-m', TEXT.slice(0, 60));
  placeAgent('claude', bin);
  const print = Buffer.from(`cat README.md; cat README.md > '${TAG}.md'`).toString('hex');
  return [
    ...['run', 'agent', '--agent', 'claude', '--policy', 'edit', '--dir', repository],
    ...['--task', `${LINE} DO=say DO=sh:${print}`],
  ];
}

/** A published script whose form has hostile words, and whose author chose its every text. */
function publish(): void {
  const words = LINE.replace(/[\u200b\u202e]/g, '').slice(0, 150);
  const choices = [TAG, LINK];
  world.file(
    'form/script.yaml',
    JSON.stringify({
      schema_version: 'published-script.v1',
      name: 'form',
      version: '1.0.0',
      title: words.slice(0, 80),
      description: words,
      script: 'run.py',
      inputs: [
        { name: 'a', label: words.slice(0, 80), kind: 'text', help: words, default: words },
        { name: 'b', label: TAG, kind: 'choice', choices, default: TAG },
        { name: 'c', label: TAG, kind: 'file' },
      ],
    }),
  );
  const fails = `proctor_tool.fail(${JSON.stringify(LINE)})`;
  world.file(
    'form/run.py',
    `import proctor_tool\nprint('PROGRESS 40% ' + ${JSON.stringify(TAG)}, flush=True)\n${fails}\n`,
  );
  const { code, stderr } = world.proctor(['publish', 'form']);
  expect(code, stderr).toBe(0);
}

/** Two sides of a suite whose file, cases, answers and versions are hostile. */
async function ranSuites(): Promise<void> {
  const answer = (more: string) =>
    saying({
      final_output: { content_type: 'text', content: `${TEXT}${LINK}${more}` },
      proposed_actions: [{ tool: TAG, action: LINK, arguments: { [TAG]: TEXT } }],
      events: [{ type: 'final_output', content_type: 'text', content: TEXT }],
      provenance: { model: LINE.slice(0, 150) },
    });
  const fails = (_: unknown, response: { writeHead(status: number): void; end(text: string): void }): void => {
    response.writeHead(500);
    response.end(TEXT);
  };
  const one = {
    metadata: { tags: [TAG, LINK] },
    suite: TAG,
    title: LINE,
    input: { user: TEXT, context: { [TAG]: TEXT } },
  };
  const expected = { contains: ['not there', TAG] };
  const file = world.file(
    `${TAG}.json`,
    JSON.stringify([
      { id: 'one', ...one, expected },
      { id: 'two', ...one },
      { id: 'three', ...one },
    ]),
  );
  for (const side of ['baseline', 'new']) {
    const behaviours = side === 'new' ? { one: answer('y'.repeat(1_000_000)), two: fails } : { one: answer('') };
    const agent = new Agent({ three: answer(side), ...behaviours });
    const url = await agent.listen();
    const args = ['run', 'suite', path.basename(file), '--base-url', url, '--as', side, '--run-id', side];
    const { code, stderr } = await world.start([...args, '--retries', '0', '--provenance', `model=${TAG}`]).ended;
    expect(code, stderr).toBeLessThan(2);
    await agent.stop();
    runs[side] = side;
  }
}

/** Files that appear in a sealed folder, and that the pages must name. */
function plant(): void {
  const output = path.join(world.cwd, '.proctor/runs/script', runs['script'] ?? '', 'output');
  mkdirSync(path.join(output, TAG), { recursive: true });
  for (const name of ['a\u202etxt.exe', `${TAG}/b\n\u0007c`, `${'n'.repeat(240)}.html`])
    writeFileSync(path.join(output, name), TEXT);
}

/** Views, and a text that each shows as it is. */
const VIEWS: readonly (() => readonly [address: string, shows: string])[] = [
  () => ['/runs', NAME],
  () => ['/scripts', TAG],
  () => ['/scripts/form', TAG],
  () => ['/settings', TAG],
  ...['script', 'intent', 'agent'].flatMap(kind => [
    () => [`/runs/${runs[kind]}`, '<script>'] as const,
    () => [`/runs/${runs[kind]}/evidence`, 'Seal and signature'] as const,
    () => [`/runs/${runs[kind]}/log`, kind === 'script' ? '<script>' : 'Internal log'] as const,
  ]),
  () => [`/runs/${runs['script']}/files?q=${encodeURIComponent(TAG)}`, TAG],
  () => [`/runs/${runs['script']}/files?q=nnn`, 'nnn'],
  () => ['/runs/new', TAG],
  () => ['/runs/new/cases/one', '<script>'],
  () => ['/runs/new/cases/two', '<script>'],
  () => ['/history', TAG],
  () => [`/history/${encodeURIComponent(`${TAG}.json`)}`, TAG],
  () => [`/history/${encodeURIComponent(`${TAG}.json`)}/one`, TAG],
  () => ['/comparisons', 'new'],
  () => [`/comparisons/${comparison}`, TAG],
  () => [`/comparisons/${comparison}/cases/one`, '<script>'],
];

const [WIDE, NARROW] = [{ width: 1280, height: 800 }, PHONE.viewport];

test('text from outside is text on every view, and no view is wider than its window', async () => {
  const seen = await watched(here());
  for (const view of VIEWS) {
    const [address, shows] = view();
    await seen.page.setViewportSize(WIDE);
    await showed(here(), address, seen);
    const shown = seen.page.locator('main').getByText(shows).filter({ visible: true });
    await shown.first().waitFor();
    await expectCalm(here(), seen, new URL(address, 'http://x').pathname);
    expect([address, await seen.page.locator('*').count()]).toEqual([address, expect.toSatisfy(isUsable)]);
    await seen.page.setViewportSize(NARROW);
    expect([address, await overflow(seen.page)]).toEqual([address, expect.toSatisfy(isInside)]);
  }
});

const isInside = (wider: number): boolean => wider <= 0;
const isUsable = (elements: number): boolean => elements < 20_000;

test('a hostile form sends what it shows, and its run shows text', async () => {
  const seen = await watched(here());
  await showed(here(), '/scripts/form', seen);
  const upload = { name: `gnp\u202e${TAG}.exe`, mimeType: 'text/html', buffer: Buffer.from(TEXT) };
  await seen.page.locator('input[type=file]').setInputFiles(upload);
  await seen.page.getByRole('button', { name: 'Run', exact: true }).click();
  await seen.page.waitForURL('**/script-runs/*');
  await seen.page.getByText('<script>').first().waitFor();
  await expectCalm(here(), seen, new URL(seen.page.url()).pathname);
});

test('a hostile HTML file is stored and not shown, although its address is opened', async () => {
  const { page, caused } = await watched(here());
  await page.goto(`${project.origin}/runs`);
  const download = page.waitForEvent('download');
  const at = `${project.origin}/v1/runs/${runs['script']}/files/output%2Fpage.html`;
  await page.goto(at).catch(() => undefined);
  expect((await download).suggestedFilename()).toBe('page.html');
  expect(caused).toEqual([`download ${at}`]);
  await expectCalm(here(), { page, caused: [] }, '/runs');
});

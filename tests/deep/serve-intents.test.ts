import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { randomFrom, SEED } from '../support/random.ts';
import { findings, launch, overflow, PHONE, pictured } from '../reports/browser.ts';

import { Place, place, type Started, until } from '../support/runs.ts';
import { type ServedProject, servedUntilStopped } from '../support/serve.ts';
import { ROOT } from '../support/support.ts';

const exampleFile = (name: string): string => path.join(ROOT, 'examples', 'intent', name);
const example = (name: string) => ({ name, text: readFileSync(exampleFile(name), 'utf8') });

describe('the page of an intent', () => {
  const world = new Place();
  let browser: Browser;
  let project: ServedProject;
  /** A run from the terminal with questions. */
  let asked = '';
  beforeAll(async () => {
    browser = await launch();
    world.proctor(['run', 'intent', exampleFile('vague.json')]);
    asked = path.basename(world.runFolders()[0] ?? '');
    project = await servedUntilStopped(world.cwd);
  });
  afterEach(() => Promise.all(browser.contexts().map(context => context.close())));
  afterAll(async () => {
    await browser.close();
    await project.stop();
    world.remove();
  });

  const post = (at: string, body: object) =>
    project.json(at, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

  async function viewed(view: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    await page.goto(`${project.origin}${view}#secret=${project.secret}`);
    await page.locator('main h1').first().waitFor();
    return page;
  }

  test('answers its questions with a form, by keyboard, and leads to the new run', async () => {
    const page = await viewed(`/runs/${asked}`);
    const version = page.getByRole('textbox', { name: /^version/ });
    await version.waitFor();
    await version.focus();
    await page.keyboard.type('2.4.0');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await page.getByRole('checkbox', { name: 'Omit the output' }).focus();
    await page.keyboard.press('Space');
    await page.getByLabel('Then').selectOption('execute-sandbox');
    await page.getByRole('button', { name: 'Answer 3 questions' }).press('Enter');
    await page.waitForURL(url => !url.pathname.endsWith(asked));
    await page.getByText('BUNDLE, accepted').waitFor();
    await page.getByText(`answers-to-${asked}.json`).first().waitFor();
  });

  test('shows an error beside its field, and keeps the answers', async () => {
    const { body } = await post('/v1/intents', { intent: { name: 'goal.json', text: '{"goal":"Do <what>"}' } });
    const { run_id: id } = body as { run_id: string };
    const page = await viewed(`/runs/${id}`);
    const plan = page.getByRole('textbox', { name: /^commands/ });
    await page.getByRole('textbox', { name: /^what/ }).fill('something');
    for (const [text, error] of [
      ['{', 'This is not valid JSON.'],
      ['[]', 'The answer must be an object with commands'],
    ] as const) {
      await plan.fill(text);
      await page.getByRole('button', { name: /^Answer/ }).click();
      await page.locator('fieldset').nth(1).getByText(error).waitFor();
      await expect.poll(() => plan.evaluate(element => element === document.activeElement)).toBe(true);
    }
    expect(await page.getByRole('textbox', { name: /^what/ }).inputValue()).toBe('something');
    expect(await findings(page)).toEqual([]);
  });

  test('says why questions cannot be answered here', async () => {
    const file = world.file('net.json', JSON.stringify({ goal: 'Do <what>', files: [{ path: 'a', content: 'b' }] }));
    const profile = {
      name: 'open',
      allow_network: true,
      timeout_ms: 2_000,
      max_output_files: 1,
      max_total_output_bytes: 2_000,
      allowed_commands: [],
      allowed_write_roots: [],
    };
    const known = new Set(world.runFolders());
    world.proctor(['run', 'intent', file, '--policy', world.file('open.json', JSON.stringify(profile))]);
    const id = path.basename(world.runFolders().find(folder => !known.has(folder)) ?? '');
    const page = await viewed(`/runs/${id}`);
    await page.getByText('The profile of this run allows the network').waitFor();
    expect(await page.getByRole('form').count()).toBe(0);
    await page.getByText('What should stand in place of <what>').waitFor();
  });

  test('shows the plan of a BUNDLE, and the reasons of a REFUSE', async () => {
    for (const [name, heading, text] of [
      ['build-config.json', /BUNDLE/, 'node build.mjs'],
      ['forbidden.json', /REFUSE/, 'which the profile default does not allow'],
    ] as const) {
      const { body } = await post('/v1/intents', { intent: example(name) });
      const page = await viewed(`/runs/${(body as { run_id: string }).run_id}`);
      await page.locator('.verdict').getByText(heading).waitFor();
      await page.getByText(text).first().waitFor();
    }
  });

  test('shows the output of a running intent, and stops it', async () => {
    const script = 'console.log("now it runs"); setTimeout(() => {}, 60000)';
    const text = JSON.stringify({ goal: 'Wait', commands: [{ argv: ['node', '-e', script] }] });
    const order = { intent: { name: 'wait.json', text }, mode: 'execute-sandbox' };
    const { body } = await post('/v1/intents', order);
    const page = await viewed(`/runs/${(body as { run_id: string }).run_id}`);
    await page.getByLabel('Newest output').getByText('now it runs').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('BUNDLE, not accepted').waitFor();
  });

  test.each([
    ['desktop', {}],
    ['phone-dark', { ...PHONE, colorScheme: 'dark' } as const],
  ])('is accessible and fits its window: %s', async (look, options) => {
    const page = await viewed(`/runs/${asked}`, options);
    await page.getByRole('form', { name: 'Answers' }).waitFor();
    await pictured(page, `intent-answers-${look}`);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    expect(await findings(page)).toEqual([]);
  });
});

describe('a server that is killed', () => {
  /** Intents that run for a moment, so that kills hit every step. */
  const text = JSON.stringify({
    goal: 'Be killed',
    commands: [{ argv: ['node', '-e', 'setTimeout(() => fs.writeFileSync("out/done", ""), 150)'] }],
    outputs: ['out/done'],
  });

  test('runs every accepted intent once, or completes its evidence', async () => {
    const world = place();
    const { stdout: token } = world.proctor(['token', 'new', '--role', 'runner', '--name', 'kills']);
    const random = randomFrom(SEED);
    const accepted = new Set<string>();
    for (let kill = 0; kill < KILLS; kill++) {
      const { server, origin } = await started(world);
      for (let count = 0; count < 2; count++) {
        const id = await ordered(origin, token, text);
        if (id) accepted.add(id);
      }
      await wait(random() * 900);
      server.kill('SIGKILL');
      await server.ended;
    }
    const interrupted = await killedWhileRunning(world, token);
    accepted.add(interrupted);
    const { server, origin } = await started(world);
    const headers = { authorization: `Bearer ${tokenIn(token)}` };
    const rowOf = async (id: string) =>
      (await (await fetch(`${origin}/v1/runs/${id}`, { headers })).json()) as { state: string; started_at: string };
    for (const id of accepted)
      await expect
        .poll(() => rowOf(id), { message: `seed ${SEED}` })
        .toMatchObject({ state: 'finished', started_at: expect.any(String) as string });
    server.kill('SIGINT');
    expect((await server.ended).code).toBe(0);
    expect(accepted.size).toBe(2 * KILLS + 1);
    // Removes the staging folders of runs that died before their journals began.
    expect(world.proctor(['recover']).code).toBe(0);
    const folders = world.runFolders();
    expect(new Set(folders.map(folder => path.basename(folder)))).toEqual(accepted);
    const outcomes = folders.map(folder =>
      JSON.parse(readFileSync(path.join(folder, 'evidence/outcome.json'), 'utf8')),
    );
    const hasOutput = folders.map(folder => existsSync(path.join(folder, 'output/out/done')));
    const recovered = outcomes.map(outcome => 'recovered' in (outcome as object));
    expect(hasOutput.map(value => !value)).toEqual(recovered);
    expect(recovered[folders.findIndex(folder => folder.endsWith(interrupted))]).toBe(true);
  });
});

const KILLS = 6;

async function started(world: Place): Promise<{ readonly server: Started; readonly origin: string }> {
  const server = world.start(['serve', '--listen', '127.0.0.1:0', '--json']);
  await until('the server has printed its address', () => server.stdout.includes('\n') || server.isOver);
  const { address } = JSON.parse(server.stdout) as { address: string };
  return { server, origin: new URL(address).origin };
}

/** Kills a server while a command of an intent certainly runs, and returns the id of the intent. */
async function killedWhileRunning(world: Place, token: string): Promise<string> {
  const { server, origin } = await started(world);
  const text = JSON.stringify({ goal: 'Wait', commands: [{ argv: ['node', '-e', 'setTimeout(() => {}, 60000)'] }] });
  const id = (await ordered(origin, token, text)) ?? '';
  const journal = path.join(world.cwd, '.proctor/runs/intent', id, 'journal.ndjson');
  await until('it runs', () => existsSync(journal) && readFileSync(journal, 'utf8').includes('"started"'));
  server.kill('SIGKILL');
  await server.ended;
  return id;
}

const tokenIn = (text: string): string => /pt_\S+/.exec(text)?.[0] ?? '';

async function ordered(origin: string, token: string, text: string): Promise<string | undefined> {
  const response = await fetch(`${origin}/v1/intents`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokenIn(token)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ intent: { name: 'killed.json', text }, mode: 'execute-sandbox' }),
  });
  const { run_id: id } = (await response.json()) as { run_id?: string };
  return id;
}

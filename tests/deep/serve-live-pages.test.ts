import path from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { findings, launch, overflow, PHONE, pictured } from '../reports/browser.ts';
import { AgentWorld, placePrograms } from '../run/agent/world.ts';
import { type Place, place, type Started, until } from '../support/runs.ts';
import { type ServedProject, servedUntilStopped } from '../support/serve.ts';

placePrograms();

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterEach(() => Promise.all(browser.contexts().map(context => context.close())));
afterAll(() => browser.close());

/** A run of another terminal that never ends by itself, and a server that shows it. */
interface OpenRun {
  readonly id: string;
  readonly running: Started;
  readonly project: ServedProject;
}

async function whileOpen(here: Place, running: Started, look: (open: OpenRun) => Promise<void>): Promise<void> {
  let project: ServedProject | undefined;
  try {
    await until('the run has a folder', () => here.runFolders().length === 1);
    project = await servedUntilStopped(here.cwd);
    await look({ id: path.basename(here.runFolders()[0] ?? ''), running, project });
  } finally {
    running.kill('SIGINT');
    await running.ended;
    await project?.stop();
  }
}

interface Seen {
  readonly page: Page;
  /** Errors and policy violations that the browser reports. */
  readonly complaints: string[];
}

/** Opens the page of a run as the person who started the server. */
async function viewed({ id, project }: OpenRun, options: BrowserContextOptions = {}): Promise<Seen> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', message => void (message.type() === 'error' && complaints.push(message.text())));
  page.on('pageerror', error => void complaints.push(String(error)));
  await page.goto(`${project.origin}/runs/${id}#secret=${project.secret}`);
  await verdict(page).waitFor();
  return { page, complaints };
}

/** Opens the page of a run with a token for viewers. */
async function viewedByViewer({ id, project }: OpenRun): Promise<Page> {
  const { body } = await project.json('/v1/tokens', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'viewer', role: 'viewer' }),
  });
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${project.origin}/runs/${id}`);
  await page.getByLabel('Access token').fill((body as { token: string }).token);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await verdict(page).waitFor();
  return page;
}

const verdict = (page: Page) => page.getByRole('region', { name: 'Verdict' });
const cancel = (page: Page) => verdict(page).getByRole('button', { name: 'Cancel' });
const newest = (page: Page) => page.getByLabel('Newest output');
const card = (page: Page, id: string) => page.locator(`section#${id}`);

/** Everything on the page is accessible, and fits the window. */
async function expectTidy(page: Page, name: string): Promise<void> {
  await pictured(page, name);
  expect(await findings(page)).toEqual([]);
  expect(await overflow(page)).toBeLessThanOrEqual(0);
}

/** Until the run has ended, and once more, the page gets what the server reads between the last document and the seal. */
async function servedWhileSealing({ id, running, project }: OpenRun, page: Page): Promise<void> {
  const { body } = (await project.json(`/v1/runs/${id}/page`)) as { readonly body: { readonly top: object } };
  let isServed = false;
  await page.route(`**/v1/runs/${id}/page`, route => {
    if (isServed) return route.fallback();
    isServed = running.isOver;
    return route.fulfill({ json: { ...body, top: { ...body.top, at: new Date().toISOString() } } });
  });
}

/** Cancels the run on its page, which then shows the sealed end without a reload. */
async function expectCancelled(open: OpenRun, { page, complaints }: Seen): Promise<void> {
  await servedWhileSealing(open, page);
  await page.evaluate('window.isSamePage = true');
  await cancel(page).click();
  await verdict(page).getByText('Failed', { exact: true }).waitFor();
  await verdict(page).getByText('was cancelled').waitFor();
  await card(page, 'evidence').getByText('verifies: every file matches').waitFor();
  await verdict(page).getByRole('link', { name: 'Evidence' }).waitFor();
  expect(await newest(page).count()).toBe(0);
  expect(await cancel(page).count()).toBe(0);
  expect(await page.evaluate('window.isSamePage')).toBe(true);
  expect((await open.running.ended).code).toBe(130);
  expect(complaints).toEqual([]);
}

const sh = (command: string): string => `DO=sh:${Buffer.from(command).toString('hex')}`;

describe('the page of a running agent', () => {
  test('shows what it says and does, its policy and its limits, and stops it', async () => {
    const world = new AgentWorld({ 'README.md': 'A project.\n' });
    const task = `${sh('echo alpha')} DO=wait:1500 DO=say ${sh('echo beta > new.txt')} DO=hang`;
    await whileOpen(world.place, world.start('claude', task, ['--timeout', '300s']), async open => {
      const seen = await viewed(open);
      const { page } = seen;
      await newest(page).getByText('calls Bash: echo alpha').waitFor();
      await newest(page).getByText('assistant: I look around first.').waitFor();
      await newest(page).getByText('calls Bash: echo beta > new.txt').waitFor();
      await card(page, 'transcript').getByText('I look around first.').waitFor();
      const policy = await card(page, 'policy').innerText();
      for (const words of ['workspace write', 'A connection to a server on this machine was refused.'])
        expect(policy).toContain(words);
      expect(policy).toMatch(/Violations\s+known after the run/);
      await card(page, 'policy')
        .getByText(/^Limits \(\d+ limits\)$/)
        .click();
      expect(await card(page, 'policy').innerText()).toMatch(/whole run\s+5 min/);
      expect(await verdict(page).innerText()).toMatch(/\d s so far[^]*is still running\./);
      await expectTidy(page, 'live-agent');
      expect(await cancel(await viewedByViewer(open)).count()).toBe(0);
      await expectCancelled(open, seen);
      await card(page, 'changes').getByText('new.txt').first().waitFor();
    });
  });
});

const SCRIPT = `#!/bin/sh
echo first
echo problem >&2
sleep 1.5
echo second
sleep 600
`;

describe('the page of a running script', () => {
  test('shows what it prints and its limits, and stops it', async () => {
    const here = place();
    here.file('task.sh', SCRIPT);
    const running = here.start(['run', 'script', 'task.sh', '--timeout', '280s', '--memory', '128m']);
    await whileOpen(here, running, async open => {
      const seen = await viewed(open, { ...PHONE, colorScheme: 'dark' });
      const { page } = seen;
      for (const words of ['first', 'problem', 'second']) await newest(page).getByText(words).waitFor();
      const limits = await card(page, 'limits').innerText();
      expect(limits).toMatch(/Time\s+280 s/);
      expect(limits).toMatch(/Memory\s+128 MiB/);
      expect(limits).toContain('usage is known after the run');
      expect(await card(page, 'sandbox').innerText()).toContain(
        'A connection to a server on this machine was refused.',
      );
      const names = await page.locator('dl.run-facts > div').evaluateAll(rows => rows.map(row => row.textContent));
      expect(names.filter(text => text === 'Took' || text === 'Signature')).toEqual([]);
      await expectTidy(page, 'live-script');
      expect(await cancel(await viewedByViewer(open)).count()).toBe(0);
      await expectCancelled(open, seen);
      expect(await card(page, 'limits').innerText()).toMatch(/Time\s+[\d.]+ s of 280 s/);
      await card(page, 'streams').getByText('second').waitFor();
    });
  });
});

import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { packRun } from '../../src/verbs/pack.ts';
import { signerAt } from '../../src/verbs/keys.ts';
import { findings, launch, overflow, PHONE, pictured } from '../reports/browser.ts';
import { Place } from '../support/runs.ts';
import { type ServedProject, servedUntilStopped } from '../support/serve.ts';
import { suiteFolder } from '../support/suite-world.ts';
import { HistoryWorld } from '../verbs/history/world.ts';

const world = new Place();
let browser: Browser;
let project: ServedProject;
let scriptId: string;
const GOOD = path.join(world.cwd, 'good.proctor.tar');
const FORGED = path.join(world.cwd, 'forged.proctor.tar');

beforeAll(async () => {
  browser = await launch();
  world.file('hello.sh', 'echo hello; echo 1 > output/one.txt\n');
  expect(world.proctor(['keys', 'new']).code).toBe(0);
  world.proctor(['run', 'script', 'hello.sh']);
  scriptId = path.basename(world.runFolders()[0] ?? '');
  const home = path.join(world.cwd, '.proctor', 'runs');
  const suite = { cases: [{ id: 'a' }], signer: signerAt(world.cwd) };
  const signed = await suiteFolder(home, { ...suite, runId: 'signed' });
  const damaged = await suiteFolder(home, { ...suite, runId: 'damaged' });
  appendFileSync(path.join(damaged, 'a.json'), ' ');
  await packRun(signed, { cwd: world.cwd, out: GOOD });
  const forged = readFileSync(GOOD);
  forged.write('What about b?', forged.indexOf('What about a?'));
  writeFileSync(FORGED, forged);
  const history = new HistoryWorld(world.cwd);
  for (const letter of ['p', 'f', 'f']) await history.add({ suite: 'basics', cases: { hours: 'p', refund: letter } });
  project = await servedUntilStopped(world.cwd);
});
afterEach(() => Promise.all(browser.contexts().map(context => context.close())));
afterAll(async () => {
  await browser.close();
  await project.stop();
  world.remove();
});

/** Signs in as the person who started the server does, and opens a view. */
async function viewed(view: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  await page.goto(`${project.origin}${view}#secret=${project.secret}`);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return page;
}

const verdict = (page: Page) => page.getByRole('region', { name: 'Verdict' });

describe('the evidence of a run', () => {
  test('is one click from its page, and names seal, signer, ledger and the commands', async () => {
    const page = await viewed(`/runs/${scriptId}`);
    await verdict(page).getByRole('link', { name: 'Evidence' }).click();
    await verdict(page).getByText('Verifies').waitFor();
    expect(await verdict(page).innerText()).toContain('your key signed the seal');
    const text = await page.locator('main').innerText();
    for (const words of ['valid, by the key of this project', 'number 1 of 1', 'sha256sum', 'openssl'])
      expect(text).toContain(words);
    expect(await page.title()).toContain('Verifies');
  });

  test('of a damaged run opens with the verdict, and names the broken rules', async () => {
    const page = await viewed('/runs/damaged/evidence');
    await verdict(page).getByText('Does not verify').waitFor();
    await page.getByRole('region', { name: 'Broken rules' }).getByText('SL5').waitFor();
  });
});

describe('a dropped file', () => {
  test('gets its verdict: a good pack, then a forged one', async () => {
    const page = await viewed('/verify');
    await page.locator('input[type=file]').setInputFiles(GOOD);
    await verdict(page).getByText('Verifies').waitFor();
    await page.getByText('folder/evidence/seal.json').waitFor();
    await dropped(page, FORGED);
    await verdict(page).getByText('Does not verify').waitFor();
    await page.getByRole('region', { name: 'Broken rules' }).waitFor();
  });
});

test('the history of three runs leads from the suites to a suite, a case, a run, and back', async () => {
  const page = await viewed('/history');
  await verdict(page).getByText('Failing').waitFor();
  await page.locator('main').getByRole('link', { name: 'basics' }).click();
  await page.waitForURL('**/history/basics');
  await page
    .getByRole('link', { name: /^refund/ })
    .first()
    .click();
  await page.getByRole('heading', { name: 'Trials' }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/history/basics/refund');
  expect(
    await page
      .getByRole('region', { name: /Trials/ })
      .locator('tbody tr')
      .count(),
  ).toBe(3);
  await page
    .getByRole('region', { name: /Trials/ })
    .getByRole('link')
    .first()
    .click();
  await page.waitForURL('**/runs/suite_*');
  await page.goBack();
  await page.getByRole('link', { name: 'All suites' }).click();
  await page.waitForURL('**/history');
});

test('the files of a run are listed, and one is downloaded as it is', async () => {
  const page = await viewed(`/runs/${scriptId}/evidence`);
  await page.getByRole('link', { name: 'Files' }).click();
  await page.getByRole('heading', { name: 'Files' }).waitFor();
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'evidence/steps/script/stdout.txt' }).click();
  const file = await (await download).path();
  expect(readFileSync(file, 'utf8')).toBe('hello\n');
  expect((await download).suggestedFilename()).toBe('stdout.txt');
});

test('an administrator reads the log of a run', async () => {
  const page = await viewed(`/runs/${scriptId}`);
  await verdict(page).getByRole('link', { name: 'Log' }).click();
  await page.getByRole('region', { name: 'stdout' }).getByText('hello').waitFor();
});

/** Drops a file on the page as a file manager does. */
async function dropped(page: Page, file: string): Promise<void> {
  const bytes = readFileSync(file).toString('base64');
  const transfer = await page.evaluateHandle(text => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(atob(text), one => one.charCodeAt(0))], 'dropped.tar'));
    return data;
  }, bytes);
  await page.dispatchEvent('.evidence-drop', 'drop', { dataTransfer: transfer });
}

const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  light: {},
  'phone, dark': { ...PHONE, colorScheme: 'dark' },
};

describe.each(Object.entries(LOOKS))('every view is accessible and fits its window: %s', (look, options) => {
  const looked = async (page: Page, name: string): Promise<void> => {
    await pictured(page, `evidence-${name}-${look.replace(', ', '-')}`);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    expect(await findings(page)).toEqual([]);
  };

  test('evidence', async () => {
    const page = await viewed(`/runs/${scriptId}/evidence`, options);
    await verdict(page).waitFor();
    await looked(page, 'run');
  });

  test('damaged evidence', async () => {
    const page = await viewed('/runs/damaged/evidence', options);
    await verdict(page).waitFor();
    await looked(page, 'damaged');
  });

  test.each([
    ['history', '/history'],
    ['suite', '/history/basics'],
    ['case', '/history/basics/hours'],
  ])('%s over time', async (name, view) => {
    const page = await viewed(view, options);
    await verdict(page).waitFor();
    await looked(page, name);
  });

  test.each(['files', 'log'])('%s', async name => {
    const page = await viewed(`/runs/${scriptId}/${name}`, options);
    await page.locator('main h1').waitFor();
    await looked(page, name);
  });

  test('verify', async () => {
    const page = await viewed('/verify', options);
    await page.locator('input[type=file]').waitFor();
    await looked(page, 'verify');
    await page.locator('input[type=file]').setInputFiles(FORGED);
    await verdict(page).waitFor();
    await looked(page, 'forged');
  });
});

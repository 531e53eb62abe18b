import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Agent, answersWell } from '../run/suite/agent.ts';
import { findings, launch, overflow, PHONE, pictured } from '../reports/browser.ts';
import { Place } from '../support/runs.ts';
import { type ServedProject, servedUntilStopped } from '../support/serve.ts';
import { suiteFolder, type WorldCase } from '../support/suite-world.ts';
import { badLooks } from './looks.ts';

const HOSTILE = '<img src=x onerror="window.hit=1"><script>window.hit=2</script> \u202egnp.exe \x1b[31mred\x1b[0m';

const hostile: WorldCase = {
  id: 'hostile',
  title: HOSTILE,
  user: HOSTILE,
  expected: { contains: ['never said'] },
  artifact: {
    final_output: { content_type: 'text', content: HOSTILE },
    events: [{ type: 'tool_call', ts: 10, call_id: 'one', tool: 'orders.get', args: { text: HOSTILE } }],
  },
};

const MANY: readonly WorldCase[] = Array.from({ length: 20_000 }, (_, n) => ({
  id: `case-${String(n).padStart(5, '0')}`,
  title: `Question number ${n}`,
  expected: { contains: [n % 1_000 === 0 ? 'something else' : 'The answer'] },
}));

const world = new Place();
const runs = path.join(world.cwd, '.proctor', 'runs');
let browser: Browser;
let project: ServedProject;
beforeAll(async () => {
  mkdirSync(runs, { recursive: true });
  const few = Array.from({ length: 12 }, (_, n) => ({ id: `c${n}`, expected: { contains: ['The answer'] } }));
  await suiteFolder(runs, { version: 'baseline', runId: 'suite_20260106_110000_000000000001', cases: few });
  const worse = few.map((one, n) => (n === 4 ? { id: one.id, expected: { contains: ['never said'] } } : one));
  await suiteFolder(runs, { version: 'new', runId: 'suite_20260106_120000_000000000002', cases: [...worse, hostile] });
  await suiteFolder(runs, { version: 'new', runId: 'suite_20260106_130000_000000000003', cases: MANY });
  browser = await launch();
  project = await servedUntilStopped(world.cwd);
}, 60_000);
afterEach(() => Promise.all(browser.contexts().map(context => context.close())));
afterAll(async () => {
  await browser.close();
  await project.stop();
  world.remove();
});

const RUN = '/runs/suite_20260106_120000_000000000002';

interface Seen {
  readonly page: Page;
  readonly complaints: string[];
}

async function viewed(view: string, options: BrowserContextOptions = {}): Promise<Seen> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', message => void (message.type() === 'error' && complaints.push(message.text())));
  page.on('pageerror', error => void complaints.push(String(error)));
  await page.goto(`${project.origin}${view}#secret=${project.secret}`);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  await page.locator('main h1').first().waitFor();
  return { page, complaints };
}

const list = (page: Page) => page.locator('.cases a.case');

describe('the report on a suite run', () => {
  test('shows the verdict and failures first, opens a case by keyboard, and survives a reload', async () => {
    const { page, complaints } = await viewed(RUN);
    await page.getByRole('heading', { name: '11 passed, 2 failed, 0 errors.' }).waitFor();
    await expect.poll(() => list(page).count()).toBeGreaterThan(10);
    await page.keyboard.press('j');
    await expect.poll(() => page.evaluate('document.activeElement?.className')).toBe('case');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**${RUN}/cases/c4`);
    await page.getByRole('heading', { name: 'Why it failed' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Why it failed' }).waitFor();
    await page.keyboard.press('j');
    await page.waitForURL(`**${RUN}/cases/hostile`);
    await page.keyboard.press('Escape');
    await page.waitForURL(`**${RUN}`);
    await page.goBack();
    await page.waitForURL(`**${RUN}/cases/hostile`);
    expect(complaints).toEqual([]);
  });

  test('filters on the server, and keeps the filters in the address', async () => {
    const { page } = await viewed(RUN);
    await page.getByPlaceholder('Search inputs, outputs, tools').fill('c4');
    await expect.poll(() => list(page).count()).toBe(1);
    expect(new URL(page.url()).search).toBe('?q=c4');
    await page.reload();
    await expect.poll(() => list(page).count()).toBe(1);
  });

  test('shows hostile text as text', async () => {
    const { page, complaints } = await viewed(`${RUN}/cases/hostile`);
    await page.getByRole('heading', { name: 'Why it failed' }).waitFor();
    const text = await page.locator('main').innerText();
    expect(text).toContain('<script>');
    expect(text).toContain('U+202E');
    expect(await page.evaluate('window.hit')).toBeUndefined();
    expect(complaints).toEqual([]);
  });

  test('of 20,000 cases draws only visible rows, and reaches the last one', async () => {
    const { page } = await viewed('/runs/suite_20260106_130000_000000000003');
    await expect.poll(() => page.getByRole('status').allInnerTexts()).toContain('20,000 cases');
    expect(await list(page).count()).toBeLessThan(60);
    await page.locator('.side').evaluate(pane => pane.scrollTo({ top: pane.scrollHeight }));
    await page.getByText('case-19999').first().waitFor();
    await page.getByLabel('Order').selectOption('id');
    await page.locator('.side').evaluate(pane => pane.scrollTo({ top: 0 }));
    await page.getByText('case-00000').first().waitFor();
    expect(await list(page).count()).toBeLessThan(60);
  }, 30_000);
});

test('compares two runs with the picker, and opens a regression', async () => {
  const { page, complaints } = await viewed(RUN);
  const picker = page.getByLabel('Baseline to compare with');
  await expect
    .poll(async () => (await picker.locator('option').allInnerTexts()).join('\n'))
    .toContain('Baseline suite_20260106_110000_000000000001, ');
  await picker.selectOption({ index: 0 });
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.waitForURL('**/comparisons/comparison_*', { timeout: 20_000 });
  await page.getByRole('navigation', { name: 'Cases' }).getByText('c4').first().click();
  await page.waitForURL('**/cases/c4');
  await page
    .getByRole('heading', { name: 'What was judged' })
    .or(page.getByRole('heading', { name: 'Why it failed' }))
    .waitFor();
  expect(await badLooks(page)).toEqual([]);
  await page.goto(`${project.origin}/comparisons`);
  await page.locator('main [data-row]').first().waitFor();
  expect(await badLooks(page)).toEqual([]);
  expect(complaints).toEqual([]);
}, 60_000);

const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  light: {},
  'phone-dark': { ...PHONE, colorScheme: 'dark' },
};

describe.each(Object.entries(LOOKS))('every view is accessible and fits its window: %s', (look, options) => {
  test.each(Object.entries({ report: RUN, overview: `${RUN}?view=overview`, case: `${RUN}/cases/c4` }))(
    '%s',
    async (name, view) => {
      const { page } = await viewed(view, options);
      await page.locator('.report-main h2, .cases a').first().waitFor({ state: 'attached' });
      await page.waitForLoadState('networkidle').catch(() => {});
      await pictured(page, `suite-${name}-${look}`);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
      expect(await findings(page)).toEqual([]);
    },
  );
});

test('a running suite lists cases as they end, each opens, and the report follows', async () => {
  let release = (): void => undefined;
  const released = new Promise<void>(resolve => (release = resolve));
  const agent = new Agent({
    two: (seen, response, times) => void released.then(() => answersWell(seen, response, times)),
  });
  const cases = ['one', 'two', 'three'].map(id => ({ id, input: { user: id }, expected: { not_contains: ['never'] } }));
  world.file('cases.json', JSON.stringify(cases));
  const url = await agent.start();
  const words = ['run', 'suite', 'cases.json', '--base-url', url, '--as', 'new', '--concurrency', '1'];
  const running = world.start(words);
  try {
    const { page } = await viewed('/runs?state=running');
    await page.locator('main [data-row]').first().click();
    await page.getByText('1 of 3 cases are done.').waitFor();
    await list(page).filter({ hasText: 'one' }).click();
    await page.waitForURL('**/cases/one');
    await page.getByRole('heading', { name: 'What was judged' }).waitFor();
    release();
    await expect.poll(() => list(page).count()).toBe(3);
    await page.getByText('3 passed, 0 failed, 0 errors.').waitFor();
  } finally {
    release();
    await running.ended;
  }
}, 30_000);

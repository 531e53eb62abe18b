import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { findings, launch, overflow, PHONE, pictured } from '../reports/browser.ts';
import { Place, until } from '../support/runs.ts';
import { type ServedProject, servedUntilStopped } from '../support/serve.ts';
import { ROOT } from '../support/support.ts';

const HOSTILE = `import proctor_tool
print('<script>window.hit = 1</script> \\u202egnp.exe \\x1b[31mred\\x1b[0m ' + 'x' * 1_000_000)
proctor_tool.succeed()
`;

const world = new Place();
let browser: Browser;
let project: ServedProject;
beforeAll(async () => {
  browser = await launch();
  world.file('gnp<b>.py', HOSTILE);
  const ran = world.proctor(['run', 'script', 'gnp<b>.py']);
  expect(ran.code, ran.stderr).toBeLessThan(2);
  world.proctor(['run', 'script', path.join(ROOT, 'examples', 'hostile.py')]);
  expect(world.proctor(['publish', path.join(ROOT, 'examples', 'publish', 'clean-orders')]).code).toBe(0);
  project = await servedUntilStopped(world.cwd);
});
afterEach(() => Promise.all(browser.contexts().map(context => context.close())));
afterAll(async () => {
  await browser.close();
  await project.stop();
  world.remove();
});

interface Seen {
  readonly page: Page;
  /** Errors and policy violations that the browser reports. */
  readonly complaints: string[];
}

/** Signs in as the person who started the server does, and opens a view. */
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

const rows = (page: Page) => page.locator('main [data-row]');

describe('the viewer', () => {
  test('exchanges the secret for a session, removes it from the address, and lists the runs', async () => {
    const { page, complaints } = await viewed('/');
    await rows(page).nth(1).waitFor();
    expect(page.url()).not.toContain('secret');
    expect(await page.title()).toBe('Runs · Proctor');
    await page.reload();
    await rows(page).nth(1).waitFor();
    expect(complaints).toEqual([]);
  });

  test('asks a stranger to sign in, and says what is wrong with a token', async () => {
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${project.origin}/runs`);
    await page.getByLabel('Access token').fill('not-a-token');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').filter({ hasText: /\w/ }).waitFor();
    expect(await findings(page)).toEqual([]);
  });

  test('keeps the filters in the address, and the back button returns to them', async () => {
    const { page } = await viewed('/runs?q=hostile');
    await expect.poll(() => rows(page).count()).toBe(1);
    await rows(page).first().click();
    await page.getByRole('heading', { name: /hostile\.py/ }).waitFor();
    await page.goBack();
    await expect.poll(() => rows(page).count()).toBe(1);
    expect(new URL(page.url()).search).toBe('?q=hostile');
  });

  test('is usable with the keyboard', async () => {
    const { page } = await viewed('/runs');
    await rows(page).nth(1).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    const href = await rows(page).nth(1).getAttribute('href');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**${href}`);
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.waitForURL('**/runs');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  });

  test('shows the text of a hostile script as text', async () => {
    const { page, complaints } = await viewed('/runs?q=gnp');
    await page.getByText('gnp<b>.py').first().waitFor();
    await rows(page).first().click();
    await page.getByRole('region', { name: 'Printed output' }).waitFor();
    const text = await page.locator('main').innerText();
    expect(text).toContain('<script>');
    expect(text).toContain('U+202E');
    expect(await page.evaluate('window.hit')).toBeUndefined();
    expect(complaints).toEqual([]);
  });

  test('runs a published script with a form, and shows its page in a frame without rights', async () => {
    const { page, complaints } = await viewed('/scripts');
    await page.getByRole('link', { name: 'Clean an order list' }).click();
    await page.locator('input[type=file]').setInputFiles(path.join(ROOT, 'examples', 'publish', 'orders.csv'));
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    const frame = page.locator('iframe');
    await frame.waitFor();
    expect(await frame.getAttribute('sandbox')).toBe('');
    await page.frameLocator('iframe').getByRole('heading', { name: 'Orders per month' }).waitFor();
    expect(await findings(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});

const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  light: {},
  'phone, dark': { ...PHONE, colorScheme: 'dark' },
};
const VIEWS = {
  runs: '/runs',
  scripts: '/scripts',
  form: '/scripts/clean-orders',
  settings: '/settings',
  lost: '/runs/none',
};

describe.each(Object.entries(LOOKS))('every view is accessible and fits its window: %s', (look, options) => {
  test.each(Object.entries(VIEWS))('%s', async (name, view) => {
    const { page } = await viewed(view, options);
    await page.waitForLoadState('networkidle').catch(() => {});
    await pictured(page, `viewer-${name}-${look.replace(', ', '-')}`);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    expect(await findings(page)).toEqual([]);
  });
});

/** An API that waits for a signal from the test before it answers. */
class SlowApi {
  readonly #waiting: (() => void)[] = [];
  readonly #server: Server = createServer((request, response) => {
    request.resume();
    this.#waiting.push(() => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ final_output: { content_type: 'text', content: 'yes' } }));
    });
  });

  async url(): Promise<string> {
    await new Promise<void>(resolve => void this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  answer(): void {
    this.#waiting.shift()?.();
  }

  close(): void {
    while (this.#waiting.length > 0) this.answer();
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

test('a running suite shows each case when it ends, once, also after a reload, and its end', async () => {
  const api = new SlowApi();
  const cases = [1, 2, 3].map(n => ({ id: `case-${n}`, input: { user: `Question ${n}?` } }));
  world.file('cases.json', JSON.stringify(cases));
  const running = world.start([
    'run',
    'suite',
    'cases.json',
    '--base-url',
    await api.url(),
    '--as',
    'new',
    '--concurrency',
    '1',
  ]);
  try {
    await until('the suite asks', () => api.waiting === 1);
    const { page } = await viewed('/runs?state=running');
    await rows(page).first().click();
    await page.getByRole('region', { name: 'Latest' }).waitFor();
    api.answer();
    const ended = page
      .getByRole('region', { name: 'Latest' })
      .locator('li')
      .filter({ has: page.locator('svg.mark') });
    await expect.poll(() => ended.count()).toBe(1);
    await page.reload();
    await until('the suite asks', () => api.waiting === 1);
    api.answer();
    await expect.poll(() => ended.count()).toBe(2);
    await until('the suite asks', () => api.waiting === 1);
    api.answer();
    await page.getByRole('link', { name: 'Download pack' }).or(page.getByText('The run is sealed.')).first().waitFor();
    expect((await ended.allInnerTexts()).map(text => /case-\d/.exec(text)?.[0] ?? '').sort()).toEqual(
      cases.map(({ id }) => id),
    );
  } finally {
    api.close();
    await running.ended;
  }
});

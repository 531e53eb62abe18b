import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { findings, launch, overflow, PHONE, pictured } from '../reports/browser.ts';
import { Place, until } from '../support/runs.ts';
import { type ServedProject, servedUntilStopped } from '../support/serve.ts';
import { ROOT } from '../support/support.ts';
import { badLooks } from './looks.ts';

const HOSTILE = `import proctor_tool
print('<script>window.hit = 1</script> \\u202egnp.exe \\x1b[31mred\\x1b[0m ' + 'x' * 1_000_000)
proctor_tool.succeed()
`;

const world = new Place();
let browser: Browser;
let project: ServedProject;
/** A run of a script that prints hostile text, one that fails with an internal log, and one of a published script. */
const runs = { hostile: '', failed: '', published: '' };
beforeAll(async () => {
  browser = await launch();
  world.file('gnp<b>.py', HOSTILE);
  const ran = world.proctor(['run', 'script', 'gnp<b>.py']);
  expect(ran.code, ran.stderr).toBeLessThan(2);
  runs.hostile = newest();
  world.proctor(['run', 'script', path.join(ROOT, 'examples', 'hostile.py')]);
  runs.failed = newest();
  expect(world.proctor(['publish', path.join(ROOT, 'examples', 'publish', 'clean-orders')]).code).toBe(0);
  project = await servedUntilStopped(world.cwd);
  runs.published = await ranPublished();
});
afterEach(() => Promise.all(browser.contexts().map(context => context.close())));
afterAll(async () => {
  await browser.close();
  await project.stop();
  world.remove();
});

function newest(): string {
  const [{ run_id: id = '' } = {}] = (
    JSON.parse(world.proctor(['list', '--json']).stdout) as { runs: { run_id?: string }[] }
  ).runs;
  return id;
}

/** Runs the published script, and returns the id of its run. */
async function ranPublished(): Promise<string> {
  const form = new FormData();
  form.set('orders', new File(['date,amount\n2026-01-02,1\n'], 'orders.csv'));
  const { body } = await project.json('/v1/scripts/clean-orders/runs', { method: 'POST', body: form });
  const { run_id: id } = body as { run_id: string };
  await (await project.ask(`/v1/script-runs/${id}/events`)).text();
  return id;
}

async function newToken(): Promise<string> {
  const { body } = await project.json('/v1/tokens', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'a reader', role: 'viewer' }),
  });
  return (body as { token: string }).token;
}

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
    await page.getByText('Open the address that proctor serve printed').waitFor();
    expect(await page.locator('#sign-in-error').textContent()).toBe('');
    await page.getByLabel('Access token').fill('not-a-token');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').filter({ hasText: /\w/ }).waitFor();
    expect(await badLooks(page)).toEqual([]);
  });

  test('shows a page for an address that does not exist, also to a stranger, who signs in there', async () => {
    const { page } = await viewed('/');
    await page.goto(`${project.origin}/v1/runs/nothing/pack`);
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
    await page.getByText('There is no run nothing.').waitFor();
    expect(await badLooks(page)).toEqual([]);
    await page.getByRole('button', { name: 'Show the start page' }).click();
    await rows(page).nth(1).waitFor();
    const stranger = await (await browser.newContext()).newPage();
    await stranger.goto(`${project.origin}/login/callback?error=access_denied`);
    await stranger.getByRole('alert').filter({ hasText: 'no sign-in provider' }).waitFor();
    await stranger.getByLabel('Access token').fill(await newToken());
    await stranger.getByRole('button', { name: 'Sign in', exact: true }).click();
    await rows(stranger).nth(1).waitFor();
    expect(new URL(stranger.url()).pathname).toBe('/');
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

  test('has its whole menu in the window of a phone, and the keyboard reaches each entry', async () => {
    const { page } = await viewed('/runs', PHONE);
    const links = page.getByRole('navigation', { name: 'Views' }).getByRole('link');
    const labels = ['Runs', 'Comparisons', 'Scripts', 'History', 'Queue', 'Verify', 'Settings'];
    expect(await links.allInnerTexts()).toEqual(labels);
    const hidden = await links.evaluateAll(all =>
      all
        .map(link => ({ label: link.textContent, box: link.getBoundingClientRect() }))
        .filter(({ box }) => box.width === 0 || box.left < 0 || box.right > innerWidth || box.bottom > innerHeight)
        .map(({ label }) => label),
    );
    expect(hidden).toEqual([]);
    await links.first().focus();
    for (const label of labels) {
      expect(await page.evaluate('document.activeElement.innerText')).toBe(label);
      await page.keyboard.press('Tab');
    }
    await links.last().click();
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
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
    await page.getByRole('listitem').getByRole('link', { name: 'Clean an order list' }).click();
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

const WIDTHS: Readonly<Record<string, BrowserContextOptions>> = { desktop: {}, phone: PHONE };

/** Views, and what each shows when it is complete. */
const VIEWS: Readonly<Record<string, () => readonly [address: string, shows: string]>> = {
  runs: () => ['/runs', '[data-row]'],
  scripts: () => ['/scripts', 'a:has-text("Clean an order list")'],
  form: () => ['/scripts/clean-orders', 'button:text-is("Run")'],
  settings: () => ['/settings', 'h2:text-is("Audit log")'],
  lost: () => ['/runs/none', 'text=There is no run none'],
  script: () => [`/runs/${runs.hostile}`, 'section#streams'],
  'failed-script': () => [`/runs/${runs.failed}`, 'section#streams'],
  'script-run': () => [`/script-runs/${runs.published}`, 'iframe'],
  log: () => [`/runs/${runs.failed}/log`, 'section#stderr'],
  'long-log': () => [`/runs/${runs.hostile}/log`, 'section#stderr'],
  evidence: () => [`/runs/${runs.hostile}/evidence`, 'main h2'],
  files: () => [`/runs/${runs.published}/files`, 'table [data-row]'],
};

describe.each(Object.entries(WIDTHS))(
  'every view is accessible and fits its window in both themes: %s',
  (width, size) => {
    test.each(Object.entries(VIEWS))('%s', async (name, view) => {
      const [address, shows] = view();
      const { page } = await viewed(address, size);
      await page.locator(shows).first().waitFor();
      expect(await spilledFields(page)).toEqual([]);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await pictured(page, `viewer-${name}-${width}-${colorScheme}`);
        expect([colorScheme, await overflow(page)]).toEqual([colorScheme, expect.toSatisfy(isInside)]);
        expect([colorScheme, await findings(page)]).toEqual([colorScheme, []]);
      }
    });
  },
);

const isInside = (wider: number): boolean => wider <= 0;

/** The fields that reach over the edge of their form or card. The padding of the page hides that from `overflow`. */
const spilledFields = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll('main input, main select, main textarea, main button')].flatMap(field => {
      const box = field.closest('form, .card')?.getBoundingClientRect();
      const { left, right, width } = field.getBoundingClientRect();
      const isInside = !box || width === 0 || (left >= box.left - 0.5 && right <= box.right + 0.5);
      return isInside ? [] : [`${field.outerHTML.slice(0, 80)} by ${Math.round(right - box.right)} px`];
    }),
  );

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

test('an ordered suite that waits for its turn is shown as waiting, with its place in the line', async () => {
  const api = new SlowApi();
  const elsewhere = new Place();
  const served = await servedUntilStopped(elsewhere.cwd, { ordering: { runs: 1 } });
  const cases = { name: 'cases.json', text: JSON.stringify([{ id: 'one', input: { user: 'Question?' } }]) };
  const order = async (base_url: string, run_id: string) => {
    const body = JSON.stringify({ as: 'new', cases, base_url, run_id });
    const headers = { 'content-type': 'application/json' };
    expect((await served.json('/v1/runs', { method: 'POST', headers, body })).status).toBe(202);
  };
  try {
    const url = await api.url();
    for (const id of ['first', 'second', 'third']) await order(url, id);
    await until('the first suite asks', () => api.waiting === 1);
    const context = await browser.newContext({ ...PHONE });
    const page = await context.newPage();
    await page.goto(`${served.origin}/runs/third#secret=${served.secret}`);
    const verdict = page.getByRole('region', { name: 'Verdict' });
    await verdict.getByText('Waiting', { exact: true }).waitFor();
    await verdict.getByText('The run waits for a slot. 1 order is before it.').waitFor();
    expect(await page.getByText('Interrupted').count()).toBe(0);
    expect(await badLooks(page)).toEqual([]);
    await page.goto(`${served.origin}/runs?state=waiting`);
    await expect.poll(() => rows(page).count()).toBe(2);
    expect(await page.locator('main').innerText()).not.toContain('unknown');
    for (const id of ['third', 'second', 'first']) {
      const { status } = await served.json(`/v1/runs/${id}/cancel`, { method: 'POST' });
      expect(status).toBeLessThan(300);
    }
    await expect
      .poll(() => served.log.join(''), { timeout: 20_000 })
      .toContain('"event":"order_ended","run_id":"first"');
  } finally {
    api.close();
    await served.stop();
    elsewhere.remove();
  }
}, 60_000);

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

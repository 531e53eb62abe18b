/** The page Queue in a real browser, from a real server. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { MemoryQueue } from '../../src/queue/memory.ts';
import { reported, request } from '../conformance/queue.ts';
import { findings, launch, overflow, PHONE, pictured } from '../reports/browser.ts';
import { Place } from '../support/runs.ts';
import { type ServedProject, servedUntilStopped } from '../support/serve.ts';
import { badLooks } from './looks.ts';

const LOOKS: readonly (readonly [string, BrowserContextOptions])[] = [
  ['light', {}],
  ['phone-dark', { ...PHONE, colorScheme: 'dark' }],
];
const HTTP_WORKER = { worker: 'lab-1', protocols: [1], needs: ['http'], slots: 8, version: '0.2.0<b>' };

let browser: Browser;
let world: Place;
let queue: MemoryQueue;
let project: ServedProject;
beforeAll(async () => {
  browser = await launch();
});
beforeEach(async () => {
  world = new Place();
  queue = new MemoryQueue();
  project = await servedUntilStopped(world.cwd, { team: { queue } });
});
afterEach(async () => {
  await Promise.all(browser.contexts().map(context => context.close()));
  await project.stop();
  world.remove();
});
afterAll(() => browser.close());

async function viewed({ origin, secret }: ServedProject, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  await page.goto(`${origin}/queue#secret=${secret}`);
  await page.getByRole('heading', { name: 'Queue', exact: true }).waitFor();
  return page;
}

const total = (page: Page, name: string) =>
  page
    .locator('.live-totals > div')
    .filter({ has: page.locator('dt', { hasText: name }) })
    .locator('dd');

test('shows what waits and who works, and follows the queue by itself', async () => {
  await queue.offer([request('a'), request('b'), request('c', { needs: 'agent/claude' })]);
  const page = await viewed(project);
  await page.getByText('No worker is connected').waitFor();
  expect(await page.getByText(`worker --on ${project.origin}`).count()).toBe(1);
  const claims = await queue.claim(HTTP_WORKER, 1, { waitMs: 0 });
  const worker = page.getByRole('row').filter({ hasText: 'lab-1' });
  await worker.waitFor();
  expect(await worker.innerText()).toMatch(/1 of 8\s+0\.2\.0<b>/);
  await expect.poll(() => total(page, 'Active').innerText()).toBe('1');
  expect(await total(page, 'Waiting').innerText()).toBe('2');
  expect(await page.getByRole('row').filter({ hasText: 'agent/claude' }).innerText()).toContain('none offers it');
  await queue.settle(claims.map(claim => reported(claim)));
  await expect.poll(() => total(page, 'Active').innerText()).toBe('0');
});

test('opens with a key, and the keys move through its rows', async () => {
  await queue.claim(HTTP_WORKER, 1, { waitMs: 0 });
  const page = await viewed(project);
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await page.waitForURL('**/runs');
  await page.keyboard.press('g');
  await page.keyboard.press('q');
  await page.waitForURL('**/queue');
  await page.getByRole('rowheader', { name: 'lab-1' }).waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  expect(await page.evaluate('document.activeElement.innerText')).toBe('lab-1');
});

test.each(LOOKS)('is accessible and fits its window: %s', async (look, options) => {
  const long = `script/process/strict/${'x'.repeat(120)}`;
  await queue.offer([request('a'), request('c', { needs: long })]);
  await queue.claim({ ...HTTP_WORKER, worker: `lab-${'1'.repeat(90)}` }, 1, { waitMs: 0 });
  const page = await viewed(project, options);
  await page.getByRole('heading', { name: 'Workers' }).waitFor();
  await pictured(page, `queue-${look}`);
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  expect(await findings(page)).toEqual([]);
});

test.each(LOOKS)('explains a server without a queue: %s', async (look, options) => {
  await project.stop();
  project = await servedUntilStopped(world.cwd);
  const page = await viewed(project, options);
  await page.getByText('proctor serve --queue').waitFor();
  await pictured(page, `queue-none-${look}`);
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  expect(await findings(page)).toEqual([]);
});

test('without a worker it is accessible too', async () => {
  await queue.offer([request('a')]);
  const page = await viewed(project);
  await page.getByText('No worker is connected').waitFor();
  expect(await badLooks(page)).toEqual([]);
});

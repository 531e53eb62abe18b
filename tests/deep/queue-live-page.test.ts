/**
 * The page of a suite that workers make, in a real browser, while its server restarts behind a proxy, its page reloads,
 * and its viewer cancels it. LIVE_CASES raises the number of cases.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { findings, launch, overflow, pictured } from '../reports/browser.ts';
import { answersWell } from '../run/suite/agent.ts';
import { TestPostgres } from '../support/postgres.ts';
import { until } from '../support/runs.ts';
import { servedUntilStopped } from '../support/serve.ts';
import { chaosWorld, expectHonest, HEARTBEAT } from './chaos-world.ts';

let postgres: TestPostgres;
let browser: Browser;
beforeAll(async () => {
  [postgres, browser] = await Promise.all([TestPostgres.start(), launch()]);
});
afterAll(async () => {
  await browser.close();
  await postgres.stop();
});

const CASES = Number(process.env['LIVE_CASES'] ?? 120);
const SLOTS = 8;
const POLLED = { timeout: 60_000 };

/** Keeps what the browser's own connections deliver, and how long frames and scripts take while cases arrive. */
const RECORDER = `
  window.seen = [];
  window.opened = 0;
  window.longest = { frameMs: 0, taskMs: 0 };
  window.isTimed = false;
  let lastMs;
  const frame = nowMs => {
    if (window.isTimed && lastMs !== undefined) window.longest.frameMs = Math.max(window.longest.frameMs, nowMs - lastMs);
    lastMs = window.isTimed ? nowMs : undefined;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  new PerformanceObserver(list => {
    for (const { duration } of list.getEntries())
      if (window.isTimed) window.longest.taskMs = Math.max(window.longest.taskMs, duration);
  }).observe({ type: 'longtask' });
  const Source = window.EventSource;
  window.EventSource = class extends Source {
    addEventListener(kind, ...more) {
      super.addEventListener(kind, ...more);
      if (kind === 'open') super.addEventListener(kind, () => window.opened++);
      else if (kind !== 'error')
        super.addEventListener(kind, ({ data }) => window.seen.push({ kind, line: JSON.parse(data).line }));
    }
  };
`;

interface SeenEvent {
  readonly kind: string;
  readonly line?: number;
}

const seenBy = (page: Page): Promise<SeenEvent[]> => page.evaluate('window.seen');

async function endedIn(page: Page): Promise<number> {
  return page.evaluate<number>(`window.seen.filter(({ kind }) => kind === 'case').length`);
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** The CPU time of its thread, in microseconds. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/**
 * Prints the longest frame, the longest task of the page if one takes more than 50 ms, and the most CPU time of a task.
 * Other programs only add to the first two.
 */
async function timed(page: Page, work: () => Promise<void>): Promise<void> {
  await browser.startTracing(page, { categories: ['toplevel'] });
  await page.evaluate('window.isTimed = true');
  await work();
  const longest = await page.evaluate<object>('window.isTimed = false, window.longest');
  const trace = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: readonly TraceEvent[] };
  const threads = trace.traceEvents.filter(
    ({ name, args }) => name === 'thread_name' && args?.name?.startsWith('CrRendererMain'),
  );
  const isOfPage = ({ pid, tid }: TraceEvent) => threads.some(thread => thread.pid === pid && thread.tid === tid);
  const tasks = trace.traceEvents.filter(event => event.name.endsWith('RunTask') && isOfPage(event));
  const cpuMs = Math.round(tasks.reduce((most, { tdur = 0 }) => Math.max(most, tdur), 0) / 1_000);
  expect(tasks.length).toBeGreaterThan(0);
  console.info(`${CASES} cases: longest ${JSON.stringify({ ...longest, cpuMs })}`);
}

/** The page gets everything in the journal, which may still grow, in its order, and nothing is missing or there twice. */
async function expectWhole(page: Page, journal: string): Promise<void> {
  const lines = () => readFileSync(journal, 'utf8').trim().split('\n').length;
  const numbered = async () => (await seenBy(page)).flatMap(({ line }) => (line === undefined ? [] : [line]));
  await expect.poll(async () => (await numbered()).at(-1) === lines()).toBe(true);
  const seen = await numbered();
  expect(seen).toEqual(Array.from(seen, (_, index) => index + 1));
}

/** Answers as a proxy whose server is away, until the page has asked for the events. */
async function refusedOnce(port: number): Promise<void> {
  let hasAsked = false;
  const proxy = createServer((request, response) => {
    hasAsked ||= request.url?.includes('/events') === true;
    response.writeHead(502).end();
  });
  await new Promise<void>(resolve => proxy.listen(port, '127.0.0.1', resolve));
  await until('the page asks for events', () => hasAsked);
  proxy.closeAllConnections();
  await new Promise(resolve => proxy.close(resolve));
}

const latest = (page: Page) => page.getByRole('region', { name: 'Latest' });

test('shows the cases of workers as they end, without a gap over restarts, reloads, a cancel and a resume', async () => {
  const held: (() => void)[] = [];
  let isHeld = true;
  const closed = new Set<string>();
  const world = await chaosWorld(postgres, CASES, (seen, response, times) => {
    response.on('close', () => closed.add(seen.caseId));
    if (isHeld) held.push(() => answersWell(seen, response, times));
    else answersWell(seen, response, times);
  });
  const { place, agent, ids, folder } = world;
  let [answered, released] = [0, 0];
  /** Answers until this many cases have ended. */
  const answer = async (count: number): Promise<void> => {
    for (; released < count; released++) {
      await until('a worker asks', () => held.length > 0);
      held.shift()?.();
    }
    answered = count;
  };
  world.worker(SLOTS);
  const running = world.conductor(['--concurrency', String(2 * SLOTS), ...HEARTBEAT]);
  await until('the agent is asked', () => agent.seen.length === SLOTS);
  const journal = path.join(folder, 'journal.ndjson');
  let project = await servedUntilStopped(place.cwd);
  onTestFinished(() => project.stop());
  const { origin, secret } = project;
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
  const complaints: string[] = [];
  page.on('pageerror', error => void complaints.push(String(error)));
  await page.addInitScript(RECORDER);
  await page.goto(`${origin}/runs/r1#secret=${secret}`);
  await latest(page).getByText('live', { exact: true }).waitFor();

  const arrive = async (count: number): Promise<void> => {
    await answer(count);
    await expect.poll(() => endedIn(page), POLLED).toBe(answered);
  };
  await timed(page, () => arrive(Math.floor(CASES / 4)));
  await latest(page)
    .getByText(/^case-\d+/)
    .first()
    .waitFor();

  await project.stop();
  await answer(Math.floor(CASES / 2));
  const port = Number(new URL(origin).port);
  await refusedOnce(port);
  project = await servedUntilStopped(place.cwd, { port });
  await expect.poll(() => endedIn(page), POLLED).toBe(answered);
  await expectWhole(page, journal);
  // The browser named the last event that it had. Otherwise, the server would have sent all of them again.
  expect(await page.evaluate('window.opened')).toBe(2);

  await page.reload();
  await expect.poll(() => endedIn(page), POLLED).toBe(answered);
  await timed(page, () => arrive(Math.floor((3 * CASES) / 4)));
  await expectWhole(page, journal);
  await pictured(page, 'live-queued-suite');
  expect(await findings(page)).toEqual([]);
  expect(await overflow(page)).toBeLessThanOrEqual(0);

  await until('the workers are busy', () => held.length === SLOTS);
  closed.clear();
  await page.getByRole('region', { name: 'Verdict' }).getByRole('button', { name: 'Cancel' }).click();
  expect((await running.ended).code).toBe(130);
  await until('their connections are closed', () => closed.size === SLOTS);
  await expectWhole(page, journal);

  isHeld = false;
  const resumed = await world.resumed().ended;
  expect(resumed.code, resumed.stderr).toBe(0);
  // The page looks at the run too, so it can show the end before the event arrives.
  await page.getByRole('link', { name: 'Download pack' }).or(page.getByText('The run is sealed.')).first().waitFor();
  expectHonest(agent, folder, ids);
  expect(complaints).toEqual([]);
});

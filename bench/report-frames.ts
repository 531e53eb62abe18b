import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium } from 'playwright-core';
import { htmlReport } from '../src/reports/html.ts';
import { type Act, EVENT_CASE, eventsOfActs, eventWorld, lookups } from '../tests/reports/event-world.ts';
import { median } from './median.ts';
import type { Row } from './rows.ts';

const EVENTS = 500;
const FRAME_MS_MAX = 50;
const SCROLLED_FRAMES = 150;
const ROUNDS = 5;

interface Frames {
  readonly longest: number;
  readonly median: number;
  /** The time that the main thread was blocked for longer than 50 ms at once. */
  readonly blocked: number;
}

/** Scrolls through a case with 500 events per side and every step unfolded, and through an empty page. */
export async function scrolling(folder: string): Promise<Row[]> {
  const acts = lookups(EVENTS / 2);
  const fresh = acts.map((act, index): Act => (index % 25 === 20 ? { tool: 'kb.search', args: { index } } : act));
  const page = [...htmlReport(eventWorld(eventsOfActs(acts), eventsOfActs(fresh)))].join('');
  const empty =
    '<!doctype html><title>nothing</title><main style="height:100vh;overflow:auto"><div style="height:30000px">';
  writeFileSync(path.join(folder, 'events.html'), page);
  writeFileSync(path.join(folder, 'scrolled-nothing.html'), empty);
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  });
  const rounds: { ours: Frames; bare: Frames }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({
      ours: await framesOf(browser, path.join(folder, 'events.html'), `#case=${EVENT_CASE}`),
      bare: await framesOf(browser, path.join(folder, 'scrolled-nothing.html'), ''),
    });
  }
  await browser.close();
  // Other programs only add to a frame, so the quietest round is closest to the cost of the page.
  const of = (whose: 'ours' | 'bare', key: keyof Frames): number => Math.min(...rounds.map(round => round[whose][key]));
  const row = (key: 'longest' | 'median'): Row => ({
    what: `${key} frame while scrolling ${EVENTS} events per side, ms, quietest of ${ROUNDS} rounds`,
    ratio: of('ours', key),
    bound: `≤ ${FRAME_MS_MAX}`,
    holds: of('ours', key) <= FRAME_MS_MAX,
    detail: `${(of('ours', key) / of('bare', key)).toFixed(2)} × an empty page, ${of('ours', 'blocked').toFixed(0)} ms in long tasks`,
  });
  return [row('longest'), row('median')];
}

async function framesOf(browser: Browser, file: string, hash: string): Promise<Frames> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(`${pathToFileURL(file).href}${hash}`);
  await page.locator('main').waitFor();
  for (const fold of await page.locator('.fold button').all()) await fold.click();
  if (hash !== '' && (await page.locator('.stream .event').count()) < EVENTS / 2)
    throw new Error('The page does not show every step.');
  // Unfolding has its own cost, which is not that of scrolling.
  await page.waitForTimeout(500);
  const frames = (await page.evaluate(`new Promise(resolve => {
    const pane = document.querySelector('main');
    const deltas = [];
    let blocked = 0;
    new PerformanceObserver(list => list.getEntries().forEach(({ duration }) => { blocked += duration; }))
      .observe({ type: 'longtask' });
    const step = pane.scrollHeight / ${SCROLLED_FRAMES};
    let last;
    const frame = now => {
      if (last !== undefined) deltas.push(now - last);
      last = now;
      pane.scrollTop += step;
      if (deltas.length < ${SCROLLED_FRAMES}) requestAnimationFrame(frame);
      else setTimeout(() => resolve({ deltas, blocked }), 100);
    };
    requestAnimationFrame(frame);
  })`)) as { deltas: number[]; blocked: number };
  await page.close();
  return { longest: Math.max(...frames.deltas), median: median(frames.deltas), blocked: frames.blocked };
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { CaseArtifact, Event } from '../../src/contracts/artifacts/index.ts';
import { htmlReport, htmlRunReport } from '../../src/reports/html.ts';
import { launch, type Opened, opened, overflow, PHONE, pictured, findings, written } from '../reports/browser.ts';
import { type Act, EVENT_CASE, eventRunWorld, eventsOfActs, eventWorld, lookups } from '../reports/event-world.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'proctor-events-'));
let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterEach(() => Promise.all(browser.contexts().map(context => context.close())));
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

const CASE = `#case=${EVENT_CASE}`;
/** Opens a case and waits for its events. */
async function shownEvents(file: string, hash = CASE, options: BrowserContextOptions = {}): Promise<Opened> {
  const found = await opened(browser, file, hash, options);
  await found.page.locator('.stream').waitFor();
  return found;
}
const compared = (
  baseline: readonly Act[],
  candidate: readonly Act[],
  hash = CASE,
  options: BrowserContextOptions = {},
): Promise<Opened> => {
  const world = eventWorld(eventsOfActs(baseline), eventsOfActs(candidate));
  return shownEvents(written(folder, 'events', htmlReport(world)), hash, options);
};
const ran = (events: readonly Event[], hash = CASE): Promise<Opened> =>
  shownEvents(written(folder, 'run', htmlRunReport(eventRunWorld(events))), hash);
const heightOf = (page: Page, selector: string): Promise<number> =>
  page.evaluate(`document.querySelector('${selector}').getBoundingClientRect().height`);
const folds = (page: Page): Promise<string[]> => page.locator('.fold').allInnerTexts();
const rowCount = (page: Page): Promise<number> => page.locator('.stream .event').count();

const refused = {
  tool: 'orders.get',
  args: { customer_id: 'c-1' },
  result: { error: 'order_id is required' },
  status: 'error',
} as const;
const acts = lookups(150);
/** Other arguments at 70, an extra call at 100, another result at 120. */
const changed = [
  ...acts.slice(0, 70),
  { ...refused, tool: 'kb.search' },
  ...acts.slice(71, 100),
  { tool: 'mail.send', args: { to: 'someone' }, tookMs: 900 },
  ...acts.slice(100, 120),
  { ...(acts[120] as object), result: 'something else' } as Act,
  ...acts.slice(121),
];

describe('a case with 150 calls', () => {
  test('folds equal steps, and opens the row that the comparison cites', async () => {
    const { page, complaints } = await compared(acts, changed);
    const [first, second] = await folds(page);
    expect([first, second]).toEqual(['68 equal steps', '25 equal steps']);
    expect(await heightOf(page, '.stream')).toBeLessThan(3_000);
    const row = page.locator('.event[data-first=true]');
    expect(await row.count()).toBe(1);
    const cited = (await page.locator('.cites .place-link').allInnerTexts()).map(text =>
      text.replace('candidate', 'new'),
    );
    for (const place of cited) expect(await row.getAttribute('data-at')).toContain(place.replace(' ', ':'));
    expect(await row.innerText()).toMatch(/First divergence[\s\S]*Arguments[\s\S]*customer_id[\s\S]*Result/);
    expect(await page.locator('.stream details[open]').count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  test('unfolds with a click and with Enter, and folds again', async () => {
    const { page } = await compared(acts, changed);
    const before = await rowCount(page);
    const fold = page.getByRole('button', { name: '68 equal steps' });
    await fold.click();
    await expect.poll(() => rowCount(page)).toBe(before + 68);
    expect(await fold.getAttribute('aria-expanded')).toBe('true');
    await page.keyboard.press('Enter');
    await expect.poll(() => rowCount(page)).toBe(before);
    await page.keyboard.press('Enter');
    await expect.poll(() => rowCount(page)).toBe(before + 68);
  });

  test('unfolds the steps around an event that a link names', async () => {
    const { page } = await compared(acts, changed, `${CASE}&at=new:events[21]`);
    const pointed = page.locator('.pointed');
    await pointed.waitFor();
    expect(await pointed.getAttribute('data-at')).toContain('new:events[21]');
    expect(await pointed.evaluate(element => element === element.ownerDocument.activeElement)).toBe(true);
  });

  test('moves the focus between differences with n and p, and lists these keys', async () => {
    const { page } = await compared(acts, changed);
    const focused = (): Promise<string> =>
      page.evaluate("document.activeElement.closest('.event')?.dataset.at?.split(' ').at(-1) ?? ''");
    const seen: string[] = [];
    for (const key of ['n', 'n', 'n', 'n', 'p']) {
      await page.keyboard.press(key);
      seen.push(await focused());
    }
    expect(seen).toEqual([
      'new:events[141]',
      'new:events[201]',
      'new:events[243]',
      'new:events[243]',
      'new:events[201]',
    ]);
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('.event details[open]').count()).toBe(2);
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    expect(await page.getByRole('dialog').innerText()).toContain('next and previous difference');
  });

  test('names a step for screen readers by its number, sides and difference', async () => {
    const { page } = await compared(acts, changed);
    const tree = await page.locator('.event[data-first=true] > details > summary').textContent();
    expect(tree).toMatch(/^Event 140.*Baseline: call.*Candidate: call.*error.*arguments differ/);
  });
});

describe('a step', () => {
  test('is one row with its call and result, its status, duration and place in time', async () => {
    const { page } = await compared(lookups(3), [...lookups(2), { tool: 'mail.send', args: { to: 'a' }, tookMs: 900 }]);
    const rows = page.locator('.stream .event');
    expect(await rows.count()).toBe(3);
    const line = rows.first();
    expect(await line.innerText()).toMatch(/0\s*call\s*orders\.get\s*\{"id":"o-0".*ok\s*40 ms/s);
    const bars = await page.evaluate(
      "[...document.querySelectorAll('.stream .spent')].map(({ offsetLeft, offsetWidth }) => [offsetLeft, offsetWidth])",
    );
    // Two bars per row: the later step is further right, and the longer one is wider.
    const [a, , b, , , last] = bars as [number, number][];
    expect(b?.[0]).toBeGreaterThan(a?.[0] ?? Number.POSITIVE_INFINITY);
    expect(last?.[1]).toBeGreaterThan(5 * (b?.[1] ?? 0));
    await line.locator('summary').first().click();
    await expect.poll(() => line.innerText()).toMatch(/Arguments[\s\S]*"id": "o-0"[\s\S]*Result[\s\S]*"delivered"/);
  });

  test('has no bar if the times are only positions', async () => {
    const numbered = (list: readonly Act[]): Event[] =>
      eventsOfActs(list).map((event, ts) => Object.assign({}, event, { ts }));
    const world = eventWorld(numbered(lookups(3)), numbered(lookups(2)));
    const { page } = await shownEvents(written(folder, 'positions', htmlReport(world)));
    expect(await rowCount(page)).toBe(3);
    expect(await page.locator('.lanes, .axis').count()).toBe(0);
  });

  test('that moved links to its counterpart', async () => {
    const [one, ...rest] = lookups(6);
    const { page } = await compared([one as Act, ...rest], [...rest, one as Act]);
    const moved = page.locator('.event[data-how=moved]');
    expect(await moved.count()).toBe(2);
    await moved.first().getByRole('link', { name: 'candidate events[10]' }).click();
    await expect.poll(() => page.locator('.pointed').getAttribute('data-at')).toBe('new:events[10] new:events[11]');
  });

  test('is next to its counterpart on a desktop, and above it on a phone', async () => {
    for (const [options, isBeside] of [
      [{}, true],
      [PHONE, false],
    ] as const) {
      const { page } = await compared(acts, changed, CASE, options);
      const boxes = await page.locator('.event[data-first=true] .both > .one').all();
      const [was, is] = await Promise.all(boxes.map(box => box.boundingBox()));
      expect((was?.x ?? 0) + (was?.width ?? 0) <= (is?.x ?? 0)).toBe(isBeside);
      expect((was?.y ?? 0) + (was?.height ?? 0) <= (is?.y ?? 0)).toBe(!isBeside);
      await page.context().close();
    }
  });
});

describe('a case with 2,000 calls', () => {
  const many = lookups(2_000);
  const late = many.with(1_000, { ...refused, tool: 'kb.search' });

  test('shows the first, the last and the cited steps, and says how many are missing between them', async () => {
    const { page, complaints } = await compared(many, late);
    expect(await page.locator('.event[data-first=true]').getAttribute('data-at')).toContain('new:events[2000]');
    const gaps = await page.locator('.omitted').allInnerTexts();
    expect(gaps).toHaveLength(2);
    for (const gap of gaps)
      expect(gap).toMatch(
        /^1,\d{3} events of the baseline and 1,\d{3} events of the candidate are not on this page\. No step/,
      );
    for (const fold of await page.locator('.fold button').all()) await fold.click();
    for (const index of [0, 3_999])
      await expect.poll(() => page.locator(`.event[data-at~="new:events[${index}]"]`).count()).toBe(1);
    expect(await page.locator('.note').first().innerText()).toContain(
      'This page shows 600 of 4000 events of the candidate.',
    );
    expect(complaints).toEqual([]);
  });

  test('jumps to an event by its original index, and to the gap if the event is missing', async () => {
    const { page } = await compared(many, late, `${CASE}&at=new:events[3998]`);
    await expect.poll(() => page.locator('.pointed').getAttribute('data-at')).toContain('new:events[3998]');
    expect(await page.locator('.pointed').innerText()).toContain('o-1999');
    const missing = await compared(many, late, `${CASE}&at=new:events[900]`);
    await expect.poll(() => missing.page.locator('.pointed').getAttribute('class')).toContain('omitted');
  });
});

describe('a run', () => {
  const failed = acts.with(70, refused);

  test('folds long series of steps, except failed ones', async () => {
    const { page, complaints } = await ran(eventsOfActs(failed));
    expect(await folds(page)).toEqual(['68 steps', '77 steps']);
    expect(await page.locator('.event[data-differs=true]').innerText()).toMatch(/orders\.get[\s\S]*error/);
    expect(await heightOf(page, '.stream')).toBeLessThan(600);
    await page.keyboard.press('n');
    expect(await page.evaluate("document.activeElement.closest('.event').dataset.at")).toContain('new:events[140]');
    expect(complaints).toEqual([]);
  });

  test('shows a call without a result', async () => {
    const { page } = await ran(eventsOfActs(acts).slice(0, -1));
    expect(await page.locator('.event[data-differs=true]').innerText()).toContain('no result');
  });
});

test('a hostile agent cannot break out of its tool names, arguments, results or event types', async () => {
  const html = '<img src=x onerror="document.title=1"><script>document.title=1</script>';
  const hidden = 'pay\u202egnp.exe';
  const events = (more: string): Event[] => [
    ...eventsOfActs([
      { tool: html, args: { [html]: html, __proto__: null, constructor: hidden }, result: html + more },
      { tool: hidden, args: { toString: more }, result: { [hidden]: html } },
      { tool: 'x'.repeat(5_000), args: { text: 'y'.repeat(5_000) } },
    ]),
    { type: html, ts: 1_767_700_900_000, hasOwnProperty: html, more },
  ];
  for (const options of [{}, PHONE]) {
    const file = written(folder, 'hostile', htmlReport(eventWorld(events('a'), events('b'))));
    const { page, complaints, asked } = await shownEvents(file, CASE, options);
    await page.evaluate("document.querySelectorAll('.stream details').forEach(box => { box.open = true; })");
    await expect.poll(() => page.locator('.step-body').count()).toBe(await rowCount(page));
    const text = await page.locator('.stream').innerText();
    expect(text).toContain('<script>');
    expect(text).toContain('U+202E');
    expect(text).not.toContain('\u202e');
    expect(await page.locator('.stream img, .stream script').count()).toBe(0);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    expect(await page.title()).toBe(`${EVENT_CASE} · Proctor`);
    expect({ complaints, asked }).toEqual({ complaints: [], asked: [] });
    await page.context().close();
  }
});

test('a case with events on one side only says so and folds them', async () => {
  const world = eventWorld(eventsOfActs(lookups(30)), []);
  const pair = world.pairs(EVENT_CASE);
  const failed = { ...pair.new, events: undefined } as unknown as CaseArtifact;
  const file = written(folder, 'one-sided', htmlReport({ ...world, pairs: () => ({ ...pair, new: failed }) }));
  const { page, complaints } = await shownEvents(file);
  expect(
    await page
      .locator('.part', { has: page.locator('.stream') })
      .locator('h3')
      .innerText(),
  ).toContain('only the baseline has events');
  expect(await folds(page)).toEqual(['28 steps']);
  expect(complaints).toEqual([]);
});

test.each([
  ['light', {}],
  ['dark', { colorScheme: 'dark' }],
  ['phone', PHONE],
  ['phone-dark', { ...PHONE, colorScheme: 'dark' }],
] as const)('the events are accessible and no wider than the window: %s', async (name, options) => {
  const { page } = await compared(acts, [...changed, { type: 'thought', text: 'so' }], CASE, options);
  await page.locator('.fold button').last().click();
  await page.locator('.stream .event[data-how=added] summary').first().click();
  await page.locator('.stream').evaluate(element => element.scrollIntoView());
  await pictured(page, `events-${name}`);
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  expect(await findings(page)).toEqual([]);
});

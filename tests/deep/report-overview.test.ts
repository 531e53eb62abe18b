import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import type { SuiteCase } from '../../src/contracts/suite/index.ts';
import { htmlReport, htmlRunReport } from '../../src/reports/html.ts';
import { launch, opened, overflow, pageFindings, PHONE, pictured, written } from '../reports/browser.ts';
import { reportWorld, runWorld } from '../reports/report-world.ts';
import { withSuspect, worse } from '../reports/verdict-world.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'proctor-overview-'));
const world = reportWorld({ cases: 3_000, regressed: 37, improved: 4, flaky: 6, missing: 9, trials: 3 });
const inputs = world.comparison.cases.map(({ case_id }) => world.pairs(case_id).case as SuiteCase);
const reason = `37 of 3,000 cases always passed before and never pass now: ${'“refunds-00001” (3/3 → 0/3), '.repeat(12)}and more. Latency is higher.`;
const large = written(
  folder,
  'large',
  htmlReport({ ...world, inputs: () => inputs, comparison: { ...world.comparison, reason } }),
);

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterEach(() => Promise.all(browser.contexts().map(context => context.close())));
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

const status = (page: Page): Promise<string> => page.getByRole('status').innerText();
const causes = (page: Page) => page.locator('.cause-list a');

describe('the causes of all cases', () => {
  test('are counted and listed with their concern and some ids, the most frequent first within each concern', async () => {
    const { page, complaints } = await opened(browser, large);
    const texts = await causes(page).allInnerTexts();
    expect(texts[0]).toMatch(
      /^1\d ×\s+output: the text of the final output differs\s+Regressed\s+\S+-\d+[\s\S]*and \d+ more/,
    );
    expect(texts.join('\n')).toContain('tool choice: kb.search instead of orders.get');
    expect(texts.join('\n')).toMatch(/9 ×\s+missing from the candidate\s+Missing/);
    const regressed = texts.filter(text => text.includes('Regressed')).map(text => Number.parseInt(text, 10));
    expect(regressed).toEqual(regressed.toSorted((a, b) => b - a));
    expect(regressed.reduce((sum, times) => sum + times, 0)).toBe(37);
    expect(complaints).toEqual([]);
  });

  test('filter the list with one click, and clear the filter with another', async () => {
    const { page } = await opened(browser, large);
    const cause = causes(page).filter({ hasText: 'kb.search instead of' });
    const times = Number.parseInt(await cause.innerText(), 10);
    await cause.click();
    await expect.poll(() => status(page)).toBe(`${times} of 3,000 cases`);
    expect(new URL(page.url()).hash).toContain('cause=tool+choice');
    await page.reload();
    await expect.poll(() => status(page)).toBe(`${times} of 3,000 cases`);
    await causes(page).filter({ hasText: 'kb.search instead of' }).click();
    await expect.poll(() => status(page)).toBe('3,000 cases');
  });

  test('are visible on a phone before any touch', async () => {
    const { page } = await opened(browser, large, '', PHONE);
    const top = page.locator('.top-cause a');
    expect(await top.innerText()).toMatch(/^1\d × output: the text/);
    const box = await top.boundingBox();
    expect((box?.y ?? 900) + (box?.height ?? 900)).toBeLessThan(PHONE.viewport.height);
    await top.click();
    await expect.poll(() => status(page)).toMatch(/^1\d of 3,000 cases$/);
  });

  test('are the failed expectations in a run', async () => {
    const { page } = await opened(
      browser,
      written(folder, 'run', htmlRunReport(runWorld({ cases: 60, regressed: 15 }))),
    );
    expect(await causes(page).first().innerText()).toMatch(/contains: The answer does not contain “EUR”\.\s+Failed/);
    await causes(page).filter({ hasText: 'timeout' }).click();
    await expect.poll(() => status(page)).toMatch(/^\d of 60 cases$/);
  });

  test('are bounded, and the page says how many more there are', async () => {
    const many = reportWorld({ cases: 150, regressed: 150 });
    const cases = many.comparison.cases.map((one, index) => ({
      ...one,
      divergence: one.divergence && { ...one.divergence, says: `Cause number ${index}. Certain.` },
    }));
    const file = written(folder, 'many', htmlReport({ ...many, comparison: { ...many.comparison, cases } }));
    const { page } = await opened(browser, file);
    expect(await causes(page).count()).toBe(8);
    await page.getByRole('button', { name: 'Show 92 more causes' }).click();
    await expect.poll(() => causes(page).count()).toBe(100);
    expect(await page.locator('.causes').innerText()).toContain('50 more causes of 50 cases are not listed');
  });
});

describe('the filters', () => {
  test('narrow the list by failed expectation, tag and severity, and are removable one by one', async () => {
    const { page } = await opened(browser, large);
    await page.getByLabel('Failed expectation').selectOption('tool_sequence');
    await page.getByRole('button', { name: 'More filters' }).click();
    await page.getByLabel('Tag').selectOption('money');
    await page.getByLabel('Severity').selectOption('high');
    await expect.poll(() => page.url()).toMatch(/#expectation=tool_sequence&tag=money&severity=high$/);
    const narrow = await status(page);
    expect(narrow).toMatch(/^\d of 3,000 cases$/);
    const chips = page.getByRole('list', { name: 'Active filters' });
    expect(await chips.getByRole('link').allInnerTexts()).toEqual([
      expect.stringMatching(/Failed expectation\s*tool_sequence/),
      expect.stringMatching(/Tag\s*money/),
      expect.stringMatching(/Severity\s*high/),
      'Clear filters',
    ]);
    await chips.getByRole('link', { name: /Severity/ }).click();
    await expect.poll(() => status(page)).not.toBe(narrow);
    expect(page.url()).not.toContain('severity');
    await chips.getByRole('link', { name: 'Clear filters' }).click();
    await expect.poll(() => status(page)).toBe('3,000 cases');
    expect(await chips.count()).toBe(0);
  });

  test('are folded on a phone', async () => {
    const { page } = await opened(browser, large, '', PHONE);
    expect(await page.getByLabel('Severity').isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Filters' }).click();
    await page.getByLabel('Severity').selectOption('high');
    await expect.poll(() => status(page)).toBe('750 of 3,000 cases');
    expect(await overflow(page)).toBeLessThanOrEqual(0);
  });
});

describe('the search', () => {
  test('finds inputs of cases that have only a row, outputs and tools, and says what it covers', async () => {
    const { page } = await opened(browser, large);
    const search = page.getByLabel('Search cases');
    const last = world.comparison.cases.findLast(({ change, title }) => change === 'same' && title?.includes('parcel'));
    const order = /A-\d+/.exec(last?.title ?? '')?.[0] ?? '';
    await search.fill(`where parcel ${order.toLowerCase()}`);
    await expect.poll(() => status(page)).toBe('1 of 3,000 cases');
    expect(await page.locator('.case').innerText()).toContain(last?.case_id);
    await search.fill('kb.search');
    await expect.poll(() => status(page)).toMatch(/^\d of 3,000 cases$/);
    expect(await page.locator('.case').first().innerText()).toContain('Regressed');
    await search.fill('working days');
    await expect.poll(() => status(page)).toMatch(/^2\d\d of 3,000 cases$/);
    expect(await page.locator('.searched').innerText()).toBe(
      'Searches ids, titles, reasons and inputs of all cases, and outputs and tools of 256 cases, up to 4,000 characters of each. Outputs and tools of 2,744 other cases are not searched.',
    );
  });

  test('says what it covers without the inputs of other cases', async () => {
    const { page } = await opened(browser, written(folder, 'bare', htmlReport(world)), '#q=parcel');
    await expect
      .poll(() => page.locator('.searched').innerText())
      .toContain('inputs of 256 cases and outputs and tools of 256 cases');
  });
});

describe('the numbers', () => {
  test('say for each side what was measured, and what each percentage refers to', async () => {
    const { page } = await opened(browser, large);
    const table = page.getByRole('region', { name: 'Time, cost and tokens' });
    const text = await table.innerText();
    expect(text).toMatch(/Latency\s+\d+ ms → \d+ ms\s+[\d.]+ % above the baseline/);
    expect(text).toMatch(/Input tokens\s+1,100 → 1,100\s+same as the baseline/);
    expect(text).toMatch(/Output tokens\s+\d/);
    expect(text).toMatch(/9,000 → 8,9\d\d( of 8,9\d\d)? trials/);
    expect(text).toContain('Unknown. Only streamed replies have one');
    expect((await page.locator('body').innerText()).match(/[+−±]\d+\s?%(?! (?:above|below))/g)).toBeNull();
    expect(await page.locator('.case').first().innerText()).toMatch(/\d % (?:slower|faster)|× slower/);
  });

  test('say how to get a cost or tokens that the agent does not report', async () => {
    const { page } = await opened(
      browser,
      written(folder, 'suspect', htmlReport({ comparison: withSuspect(), pairs: () => ({}) })),
    );
    const table = page.getByRole('region', { name: 'Time, cost and tokens' });
    expect(await table.innerText()).toMatch(
      /Cost\s+Unknown\. Return “cost_usd”[\s\S]*Tokens\s+Unknown\. Return “input_tokens”/,
    );
    await expect.poll(() => page.locator('.plots').innerText()).toContain('The agent reports no cost.');
  });

  test('show the pass rates and the gate’s whole sentence first', async () => {
    const comparison = { ...worse(), reason: `${worse().reason} ${'More about limits. '.repeat(20)}` };
    const { page } = await opened(browser, written(folder, 'worse', htmlReport({ comparison, pairs: () => ({}) })));
    const first = page.locator('.overview .card').first();
    expect(await first.innerText()).toContain('More about limits.');
    expect(await first.getByRole('img', { name: /^Pass rate: baseline 100 %/ }).count()).toBe(1);
  });

  test('keep the headline short', async () => {
    const { page } = await opened(browser, large);
    expect(await page.locator('h1').innerText()).toBe('37 of 3,000 cases always passed before and never pass now.');
    expect(await page.locator('.decision').innerText()).toContain('Latency is higher.');
  });

  test('count unjudged cases separately', async () => {
    const small = runWorld({ cases: 20, regressed: 5 });
    const cases = small.evaluation.cases.map((one, index) =>
      one.verdict === 'pass' && index % 2 === 0
        ? { ...one, assertions: [], metrics: { ...one.metrics, score: null } }
        : one,
    );
    const unjudged = cases.filter(({ verdict, assertions }) => verdict === 'pass' && assertions.length === 0).length;
    const evaluation = { ...small.evaluation, cases, summary: { ...small.evaluation.summary, unjudged } };
    const { page } = await opened(browser, written(folder, 'unjudged', htmlRunReport({ ...small, evaluation })));
    expect(await page.getByRole('link', { name: `${15 - unjudged} Passed` }).count()).toBe(1);
    await page.getByRole('link', { name: `${unjudged} Not judged` }).click();
    await expect.poll(() => status(page)).toBe(`${unjudged} of 20 cases`);
    expect(await page.locator('.case').first().innerText()).toContain('Not judged');
  });
});

describe('hostile content', () => {
  const hostile = '<img src=x onerror="document.title=1">\u202e“”';
  const small = reportWorld({ cases: 6, regressed: 3 });
  const cases = small.comparison.cases.map(one => ({
    ...one,
    tags: [hostile],
    severity: hostile,
    failing: one.failing.map(failing => ({ ...failing, message: hostile })),
    divergence: one.divergence && {
      ...one.divergence,
      says: `The candidate called “${hostile}” where it should not. ${hostile}`,
    },
  }));
  const file = written(
    folder,
    'hostile',
    htmlReport({
      ...small,
      comparison: { ...small.comparison, reason: `${hostile} ${'x'.repeat(200)}. More.`, cases },
      inputs: () =>
        inputs.slice(0, 6).map(({ id }) => ({ id, input: { user: `${hostile} </script><script>alert(1)</script>` } })),
      pairs: id => {
        const pair = small.pairs(id);
        return {
          ...pair,
          new: { ...pair.new, final_output: { content_type: 'text', content: hostile } } as CaseArtifact,
        };
      },
    }),
  );

  test.each(['', `#tag=${encodeURIComponent(hostile)}&cause=${encodeURIComponent(hostile)}`, '#q=onerror'])(
    'stays text in every new field: %s',
    async hash => {
      const { page, complaints, asked } = await opened(browser, file, hash);
      await page.locator('.overview').waitFor();
      if (hash === '#q=onerror') await expect.poll(() => status(page)).toBe('6 of 6 cases');
      expect(await page.locator('img, iframe').count()).toBe(0);
      expect(await page.title()).toBe('Regression · Proctor');
      const text = await page.locator('body').innerText();
      expect(text).toContain('<img src=x');
      expect(text).toContain('U+202E');
      expect(text).not.toContain('\u202e');
      expect({ complaints, asked }).toEqual({ complaints: [], asked: [] });
    },
  );
});

test('prints the causes and the cases that need attention, without the controls', async () => {
  const { page } = await opened(browser, large);
  await page.locator('.printed').waitFor({ state: 'attached' });
  await page.emulateMedia({ media: 'print' });
  const printed = page.locator('.printed');
  expect(await printed.isVisible()).toBe(true);
  expect(await printed.locator('tbody tr').first().innerText()).toMatch(
    /\S+-\d+[\s\S]*Regressed 3\/3 → 0\/3[\s\S]*The /,
  );
  expect(await causes(page).first().isVisible()).toBe(true);
  for (const hidden of ['.side', '.tabs', '.plots']) expect(await page.locator(hidden).first().isVisible()).toBe(false);
});

test('moves the focus to the content with the skip link', async () => {
  const { page } = await opened(browser, large);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  expect(await page.evaluate('document.activeElement.id')).toBe('content');
  expect(new URL(page.url()).hash).toBe('');
});

test.each([
  ['light', '', {}],
  ['dark, filtered', '#tag=money&q=parcel', { colorScheme: 'dark' }],
  ['phone', '', PHONE],
  ['phone, dark, overview', '#view=overview', { ...PHONE, colorScheme: 'dark' }],
] as const)('has no axe findings and fits its window: %s', async (name, hash, options) => {
  const { page, complaints } = await opened(browser, large, hash, options);
  await page.locator('.app').waitFor();
  await pictured(page, `overview-causes-${name.replaceAll(/\W+/g, '-')}`);
  expect(await pageFindings(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

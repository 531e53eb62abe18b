import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { htmlReport, htmlRunReport } from '../../src/reports/html.ts';
import { launch, opened, PHONE, pictured, written, pageFindings } from '../reports/browser.ts';
import { caseWorld } from '../reports/case-world.ts';
import { reportWorld, runWorld } from '../reports/report-world.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'proctor-report-'));
const { input, long, changed } = caseWorld();
let browser: Browser;
let file: string;

beforeAll(async () => {
  browser = await launch();
  file = written(folder, 'case', htmlReport(input));
});
afterEach(() => Promise.all(browser.contexts().map(context => context.close())));
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

const output = (page: Page) => page.locator('.output .diff');

describe('the difference of two answers', () => {
  test('folds unchanged lines, and opens them on click', async () => {
    const { page, complaints } = await opened(browser, file, `#case=${long}`);
    const folds = output(page).locator('.unchanged button');
    expect(await folds.allInnerTexts()).toEqual(['17 unchanged lines', '14 unchanged lines', '7 unchanged lines']);
    expect(await output(page).innerText()).not.toContain('Line 3:');
    await folds.first().click();
    await expect.poll(() => output(page).innerText()).toContain('Line 3:');
    expect(await folds.count()).toBe(2);
    expect(complaints).toEqual([]);
  });

  test('marks the words that differ inside a line', async () => {
    const { page } = await opened(browser, file, `#case=${long}`);
    expect(await output(page).locator('td.gone').first().innerText()).toContain('A-20 was delivered on Monday and');
    expect(await output(page).locator('del').first().innerText()).toBe('delivered on Monday');
    expect(await output(page).locator('ins').first().innerText()).toBe('lost on Tuesday');
  });

  test('switches to one column, and remembers it for the session', async () => {
    const { page } = await opened(browser, file, `#case=${long}`);
    expect(await output(page).getAttribute('class')).toContain('side');
    await page.getByRole('button', { name: 'Unified' }).first().click();
    await expect.poll(() => output(page).getAttribute('class')).toContain('unified');
    await page.reload();
    expect(await output(page).getAttribute('class')).toContain('unified');
    await page.getByRole('button', { name: 'Side by side' }).first().press('Enter');
    await expect.poll(() => output(page).getAttribute('class')).toContain('side');
  });

  test('is in one column on a phone', async () => {
    const { page } = await opened(browser, file, `#case=${long}`, PHONE);
    expect(await output(page).getAttribute('class')).toContain('unified');
    await pictured(page, 'case-diff-phone');
  });

  test('of two answers of 1 MB does not freeze the page', async () => {
    const { input: large, long: id } = caseWorld();
    const answers = ['a', 'b'].map(letter =>
      Array.from({ length: 30_000 }, (_, at) => `${letter} ${at} and some more words here`).join('\n'),
    );
    const page = [...htmlReport(large)].join('');
    const start = '<script type="application/json" id="case-0">';
    const from = page.indexOf(start) + start.length;
    const end = page.indexOf('</script', from);
    const data = JSON.parse(page.slice(from, end));
    // The writer would shorten these answers, so they are put in here.
    for (const [at, side] of ['baseline', 'new'].entries())
      data[side].final_output = { content_type: 'text', content: answers[at] };
    const big = written(folder, 'big', [page.slice(0, from), JSON.stringify(data), page.slice(end)]);
    const { page: shown, complaints } = await opened(browser, big, `#case=${id}`);
    await output(shown).waitFor();
    expect(await output(shown).locator('tr').count()).toBeLessThan(600);
    expect(await shown.locator('.output').innerText()).toMatch(/10,000 lines at its end are not compared/);
    await shown.getByRole('button', { name: 'Show 500 more' }).click();
    await expect.poll(() => output(shown).locator('tr').count()).toBeGreaterThan(900);
    expect(complaints).toEqual([]);
  });
});

test('a changed case shows its old and new input and expectations', async () => {
  const { page } = await opened(browser, file, `#case=${changed}`);
  const section = page.locator('.part', { hasText: 'Changed since the baseline' }).first();
  expect(await section.getByRole('table').first().innerText()).toContain('Two months ago I bought it.');
  const text = await section.innerText();
  for (const words of ['input changed at user', 'context.locale', 'max_latency_ms', '10000', '15000'])
    expect(text).toContain(words);
  const { pairs } = input;
  const bare = htmlReport({ ...input, pairs: id => ({ ...pairs(id), was: undefined }) });
  const { page: without } = await opened(browser, written(folder, 'without', bare), `#case=${changed}`);
  expect(await without.locator('.detail').innerText()).toContain('is not in this project, so only these differences');
});

describe('the trials of a case', () => {
  test('open with their answer and attempts, at an address of their own', async () => {
    const { page, complaints } = await opened(browser, file, `#case=${long}`);
    const candidate = page.getByRole('navigation', { name: 'Trials of the candidate' });
    expect(await candidate.locator('[aria-current]').innerText()).toContain('1');
    await candidate.getByRole('link', { name: /^3/ }).click();
    await expect.poll(() => page.url()).toContain('trial=new%3A3');
    await expect.poll(() => page.locator('.output').innerText()).toContain('Trial 3 of new.');
    await page
      .getByRole('navigation', { name: 'Trials of the baseline' })
      .getByRole('link', { name: /^2/ })
      .press('Enter');
    await expect.poll(() => page.url()).toContain('trial=baseline%3A2%2Cnew%3A3');
    await page.reload();
    expect(await page.locator('.output').innerText()).toContain('Trial 3 of new.');
    expect(await page.locator('tr[aria-current]').allInnerTexts()).toEqual([
      expect.stringMatching(/baseline\s+2/),
      expect.stringMatching(/candidate\s+3/),
    ]);
    expect(await page.locator('.commands').innerText()).toMatch(/proctor show \S+\.3\b/);
    expect(complaints).toEqual([]);
  });

  test('that the page lacks are named with the command that shows them', async () => {
    const { trial: _trial, ...rest } = input;
    const lacking = written(folder, 'lacking', htmlReport({ ...rest, trial: () => undefined }));
    const { page } = await opened(browser, lacking, `#case=${long}&trial=new:2`);
    const note = page.getByRole('note');
    expect(await note.innerText()).toContain('leaves out trial 2 of the candidate');
    expect(await note.locator('code').innerText()).toMatch(/^proctor show suite_\S+\.2$/);
    expect(await page.locator('.coverage').innerText()).toContain('0 of 12 further trials');
  });

  test('go back to the trials that the cause cites, by its links', async () => {
    const { page } = await opened(browser, file, `#case=${long}&trial=new:3`);
    await page.getByRole('link', { name: 'candidate events[1]' }).click();
    await expect.poll(() => page.url()).not.toContain('trial=');
    await expect.poll(() => page.locator('.pointed').count()).toBe(1);
  });

  test('show their tokens, and say what each percentage refers to', async () => {
    const { comparison } = input;
    const cases = comparison.cases.map(one => ({
      ...one,
      new: { trials: one.new.trials.map(trial => ({ ...trial, tokens: 1_204, cost_usd: null })) },
      baseline: { trials: one.baseline.trials.map(trial => ({ ...trial, tokens: 1_000, cost_usd: null })) },
    }));
    const report = htmlReport({ ...input, comparison: { ...comparison, cases } });
    const { page } = await opened(browser, written(folder, 'tokens', report), `#case=${long}`);
    const section = page.locator('.part', { has: page.getByRole('region', { name: 'Trials' }) });
    expect(await section.innerText()).toContain('1,204');
    expect(await section.locator('.means').innerText()).toContain('1,000 → 1,204, 20 % above the baseline');
    expect(await section.innerText()).toContain('The agent reports no cost.');
    expect(await section.innerText()).toContain('see docs/targets.md');
  });
});

test('a case with only a row shows no stray zero', async () => {
  const many = reportWorld({ cases: 500, regressed: 1 });
  const last = many.comparison.cases.findLast(({ change }) => change === 'same')?.case_id;
  const { page } = await opened(browser, written(folder, 'rows', htmlReport(many)), `#case=${last}`);
  expect(await page.locator('.detail .empty').innerText()).toMatch(/^This page has only a row/);
});

test('a case without expectations says how to add them', async () => {
  const world = runWorld({ cases: 1 });
  const { expected: _, ...bare } = world.pairs('refunds-00001').case ?? {};
  const cases = world.evaluation.cases.map(one => ({ ...one, assertions: [] }));
  const report = htmlRunReport({
    ...world,
    evaluation: { ...world.evaluation, cases },
    pairs: id => ({ ...world.pairs(id), case: bare as never }),
  });
  const { page } = await opened(browser, written(folder, 'bare', report), '#case=refunds-00001');
  expect(await page.locator('.detail').innerText()).toContain('see docs/suites.md');
});

describe('a command', () => {
  test('is copied by its button, which says so', async () => {
    const { page } = await opened(browser, file, `#case=${long}`, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const row = page.locator('.commands li').first();
    await row.getByRole('button', { name: 'Copy: Run this case again.' }).press('Enter');
    await expect.poll(() => row.getByRole('status').innerText()).toBe('Copied');
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(`proctor test basics --only ${long}`);
  });

  test('is selected if the browser refuses the clipboard', async () => {
    const { page } = await opened(browser, file, `#case=${long}`);
    await page.evaluate(
      "Object.defineProperty(navigator, 'clipboard', { value: undefined }); document.execCommand = () => false",
    );
    const row = page.locator('.commands li').first();
    await row.getByRole('button').click();
    await expect.poll(() => row.getByRole('status').innerText()).toContain('Selected');
    expect(await page.evaluate('getSelection().toString()')).toBe(`proctor test basics --only ${long}`);
  });
});

describe('hostile content of a case', () => {
  const hostile = `</script><img src=x onerror=document.title='owned'>\u202egnp\u0007'$(touch owned)'`;

  test('stays text in diffs, versions, trials and commands', async () => {
    const {
      input: attacked,
      long: one,
      changed: other,
    } = caseWorld({
      text: hostile,
      commands: {
        list: [{ does: hostile, words: ['proctor', 'try', 'desk', { put: 'question' }] }],
        notes: [hostile],
        away: [],
      },
    });
    const report = written(folder, 'hostile', htmlReport(attacked));
    for (const hash of [`#case=${one}`, `#case=${one}&trial=new:3`, `#case=${other}`, `#case=${one}&trial=%3Cimg%3E`]) {
      const { page, complaints, asked } = await opened(browser, report, hash);
      await page.locator('.detail .commands').waitFor();
      expect(await page.locator('.detail img').count()).toBe(0);
      expect(await page.locator('.detail').innerText()).toContain('U+202E');
      expect(await page.locator('.detail').innerText()).not.toContain('\u202e');
      expect(await page.title()).not.toContain('owned');
      expect(await page.locator('.commands code').innerText()).toMatch(
        /^proctor try desk (?:--context \S+ )?\$'<\/script>/,
      );
      expect({ complaints, asked }).toEqual({ complaints: [], asked: [] });
    }
  });
});

test.each([
  ['light', {}],
  ['dark', { colorScheme: 'dark' }],
  ['light, on a phone', PHONE],
  ['dark, on a phone', { ...PHONE, colorScheme: 'dark' }],
] as const)('a case is accessible and no wider than its window: %s', async (name, options) => {
  for (const id of [long, changed]) {
    const { page } = await opened(browser, file, `#case=${id}&trial=new:3`, options);
    await page.locator('.commands').waitFor();
    await pictured(page, `case-${id === long ? 'texts' : 'changed'}-${name.replaceAll(/\W+/g, '-')}`);
    expect(await pageFindings(page)).toEqual([]);
  }
});

test('a printed case is complete, with its folds open', async () => {
  const { page } = await opened(browser, file, `#case=${long}`);
  await output(page).waitFor();
  await page.emulateMedia({ media: 'print' });
  await expect.poll(() => output(page).locator('.unchanged').count()).toBe(0);
  expect(await output(page).innerText()).toContain('Line 3:');
  expect(await page.locator('main details:not([open])').count()).toBe(0);
  await page.emulateMedia({ media: 'screen' });
  await expect.poll(() => output(page).locator('.unchanged').count()).toBe(3);
  expect(await page.locator('main details:not([open])').count()).toBeGreaterThan(0);
});

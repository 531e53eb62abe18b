import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { matrixOf } from '../../src/judge/compare/matrix.ts';
import { gateOf } from '../../src/judge/compare/gate.ts';
import { matrixReports } from '../../src/reports/matrix.ts';
import { compareRuns, compareVersions, runSuite } from '../../src/verbs/index.ts';
import { failedCase, judgedCase, side } from '../judge/compare/sides.ts';
import { launch, opened, overflow, PHONE, pictured, findings, written, pageFindings } from '../reports/browser.ts';
import { Agent, saying } from '../run/suite/agent.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'proctor-matrix-'));
let browser: Browser;
/** The page of real runs of three agents. */
let real: string;
let hostile: string;

beforeAll(async () => {
  browser = await launch();
  real = await realPage();
  hostile = await hostilePage();
}, 120_000);
afterEach(() => Promise.all(browser.contexts().map(context => context.close())));
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs three agents over the same cases, compares two of them, and writes the page of all three. */
async function realPage(): Promise<string> {
  const ids = Array.from({ length: 8 }, (_, index) => `${index % 2 === 0 ? 'order' : 'refund'}-${index}`);
  const cases = ids.map(id => ({ id, title: `About ${id}`, input: { user: id }, expected: { contains: 'yes' } }));
  writeFileSync(path.join(folder, 'cases.json'), JSON.stringify(cases));
  const answering = (model: string, cost_usd: number, isRight: (id: string) => boolean) =>
    new Agent(
      Object.fromEntries(
        ids.map(id => {
          const final_output = { content_type: 'text', content: isRight(id) ? 'yes' : 'no' };
          return [id, saying({ final_output, model, token_usage: { cost_usd, total_tokens: 100 } })];
        }),
      ),
    );
  const agents = [
    answering('careful', 0.02, () => true),
    answering('cheap', 0.001, id => !id.startsWith('refund')),
    answering('middling', 0.005, id => id !== 'refund-1'),
  ];
  const runs: string[] = [];
  for (const agent of agents) {
    const baseUrl = await agent.listen();
    const { runs: made } = await runSuite({ cases: 'cases.json', baseUrl, as: 'new', repeat: 3, cwd: folder });
    runs.push(made[0]?.place.id ?? '');
    await agent.stop();
  }
  await compareRuns({ baseline: runs[0] ?? '', candidate: runs[1] ?? '', cwd: folder });
  const { files } = await compareVersions({ versions: runs.map(run => ({ run })), cwd: folder });
  return files.html ?? '';
}

/** Eight versions with hostile names, and more cases than the page shows at first. */
async function hostilePage(): Promise<string> {
  const names = [
    '<img src=x onerror=alert(1)>',
    '\u202etxet desrever \u202d',
    '</script><script>alert(2)</script>',
    'a name of forty letters without any break',
    '`|*_[x](javascript:alert(3))',
    '\u0000\u0007\u001b[31mred',
    '日本語の名前',
    '"quoted" & more',
  ];
  const versions = names.map((name, version) => ({
    name,
    facts: [{ name: 'model', value: `${name}${'x'.repeat(300)}` }],
    side: side(
      `v${version}`,
      ...[1, 2].map(run =>
        Array.from({ length: 130 }, (_, index) =>
          ((index + version * run) % 7 === 0 ? failedCase : judgedCase)(`<b>case-${index}</b>`),
        ),
      ),
    ),
  }));
  const matrix = await matrixOf(versions, gateOf({}), {
    matrixId: 'matrix_20260106_120000_0123456789ab',
    generatedAt: '2026-01-06T12:00:00.000Z',
    decidedBy: 'all_pairs',
  });
  return written(folder, 'hostile', matrixReports.html(matrix, []).pieces);
}

const LOOKS = [
  ['light', {}],
  ['dark', { colorScheme: 'dark' }],
  ['phone', PHONE],
  ['phone-dark', { ...PHONE, colorScheme: 'dark' }],
] as const;

describe('the page of a matrix', () => {
  test.each(LOOKS)('is accessible, and no wider than its window: %s', async (look, options) => {
    const { page, complaints, asked } = await opened(browser, real, '', options);
    await page.locator('.matrix').waitFor();
    await pictured(page, `matrix-${look}`);
    expect(await pageFindings(page)).toEqual([]);
    expect([complaints, asked]).toEqual([[], []]);
  });

  test('names the verdict, the versions and their numbers', async () => {
    const { page } = await opened(browser, real);
    expect(await page.locator('h1').innerText()).toBe('1 of 2 versions is worse than “careful”: “cheap”.');
    const rows = await page.getByRole('region', { name: 'Versions' }).locator('tbody tr').allInnerTexts();
    expect(rows[0]).toMatch(/careful\s+reference[\s\S]*100 %[\s\S]*\$0\.02/);
    expect(rows[1]).toMatch(/cheap[\s\S]*Worse[\s\S]*50 %[\s\S]*\$0\.002/);
    const plot = page.getByRole('img', { name: /^Pass rate: 1 careful 100 % \(.*\), 2 cheap 50 %/ });
    expect(await plot.locator('.reach').count()).toBe(3);
  });

  test('explains a pair, links to its report if there is one, and keeps the choice in the address', async () => {
    const { page } = await opened(browser, real);
    const detail = page.locator('.matrix-detail');
    expect(await detail.innerText()).toContain('cheap against careful');
    const link = detail.getByRole('link', { name: 'Open the report of this pair' });
    expect(await link.getAttribute('href')).toMatch(/^\.\.\/\.\.\/comparisons\/comparison_\w+\/report\.html$/);
    await page.getByRole('button', { name: 'middling against careful: Undecided' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => detail.innerText()).toMatch(/middling against careful[\s\S]*proctor compare suite_/);
    expect(page.url()).toContain('#pair=1-3');
    await page.reload();
    await expect.poll(() => detail.innerText()).toContain('middling against careful');
    await link.waitFor({ state: 'detached' });
  });

  test('opens the linked report', async () => {
    const { page } = await opened(browser, real);
    await page.getByRole('link', { name: 'Open the report of this pair' }).click();
    await page.locator('.app').waitFor();
    expect(await page.title()).toContain('Regression');
  });

  test('plots the pass rate against cost, time or tokens', async () => {
    const { page } = await opened(browser, real);
    await page.getByRole('img', { name: /^Cost per solved case and pass rate: careful \$0\.02, 100 %/ }).waitFor();
    expect(await page.locator('.scatter .dot').count()).toBe(3);
    expect(await movedUpOrDown(page)).toBe(0);
    await page.getByRole('button', { name: 'Tokens' }).click();
    await page
      .getByRole('img', { name: /^Tokens per solved case and pass rate: careful 100, 100 %; cheap 200/ })
      .waitFor();
    expect(page.url()).toContain('by=tokens');
  });

  test('shows the cases that differ first, and all of them or some on request', async () => {
    const { page } = await opened(browser, real);
    const rows = page.getByRole('region', { name: 'Cases by version' }).locator('tbody tr');
    expect(await rows.allInnerTexts()).toHaveLength(4);
    expect(await rows.first().innerText()).toMatch(/refund-1\s+About refund-1[\s\S]*3\/3[\s\S]*0\/3[\s\S]*0\/3/);
    await page.getByRole('button', { name: 'All cases' }).click();
    await expect.poll(() => rows.count()).toBe(8);
    await page.getByRole('searchbox', { name: 'Search cases' }).fill('order-2');
    await expect.poll(() => rows.allInnerTexts()).toHaveLength(1);
    await page.getByRole('searchbox', { name: 'Search cases' }).fill('nothing');
    await page.getByText('No case matches.').waitFor();
  });

  test('prints every version and case that is shown', async () => {
    const { page } = await opened(browser, real);
    await page.emulateMedia({ media: 'print' });
    await page.locator('.matrix').waitFor();
    expect(await isVisible(page, '.matrix-versions')).toBe(true);
    expect(await isVisible(page, '.matrix-choices')).toBe(false);
  });
});

const isVisible = (page: Page, selector: string): Promise<boolean> => page.locator(selector).first().isVisible();

describe('a matrix with hostile names', () => {
  test.each([LOOKS[0], LOOKS[3]])('shows them as text, and fits: %s', async (look, options) => {
    const { page, complaints, asked } = await opened(browser, hostile, '', options);
    await page.locator('.matrix').waitFor();
    await pictured(page, `matrix-hostile-${look}`);
    expect(await page.locator('main img, main b, main script').count()).toBe(0);
    expect(await page.locator('.matrix-name').first().innerText()).toContain('<img src=x onerror=alert(1)>');
    expect(await page.locator('.matrix-name .hidden-character').first().innerText()).toBe('U+202E');
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    expect(await findings(page)).toEqual([]);
    expect([complaints, asked]).toEqual([[], []]);
  });

  test('keeps overlapping dots at the height of their pass rate', async () => {
    const { page } = await opened(browser, hostile);
    expect(await page.locator('.scatter .dot').count()).toBe(8);
    expect(await movedUpOrDown(page)).toBe(0);
  });

  test('shows 100 cases at a time', async () => {
    const { page } = await opened(browser, hostile);
    const rows = page.locator('.matrix-cases tbody tr');
    expect(await rows.count()).toBe(100);
    await page.getByRole('button', { name: 'Show 30 more' }).click();
    await expect.poll(() => rows.count()).toBe(130);
  });
});

/** Counts the dots that are not at the height where their line starts, which is their true position. */
const movedUpOrDown = (page: Page): Promise<number> =>
  page.locator('.scatter').evaluate(plot => {
    const lines = [...plot.querySelectorAll('.leader')];
    const dots = [...plot.querySelectorAll('.dot circle')];
    return dots.filter((dot, index) => dot.getAttribute('cy') !== lines[index]?.getAttribute('y1')).length;
  });

/** The page of `proctor history`, made from real runs of an agent that breaks at the third of five runs. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launch, opened, overflow, PHONE, pictured, findings, written, pageFindings } from '../reports/browser.ts';
import { instantText } from '../../src/base/clock.ts';
import type { History, SuiteHistory } from '../../src/reports/pages/history-data.ts';
import { historyPage } from '../../src/reports/pages/history-page.ts';
import { htmlPage } from '../../src/reports/pages/html-page.ts';
import { proctor } from '../support/support.ts';
import { gitIn } from '../../stand-ins/git.ts';
import { HistoryWorld } from '../verbs/history/world.ts';

let browser: Browser;
/** A project with five tests. */
const project = mkdtempSync(path.join(tmpdir(), 'proctor-history-'));
const page = path.join(project, '.proctor', 'reports', 'history', 'report.html');
const commits: string[] = [];

beforeAll(async () => {
  browser = await launch();
  gitIn(project, 'init', '-q', '-b', 'main');
  typed(0, 'init', '--yes');
  for (const round of [1, 2, 3, 4, 5]) {
    const agent = path.join(project, 'agent.mjs');
    if (round === 3) writeFileSync(agent, readFileSync(agent, 'utf8').replace('EUR_MAX = 50', 'EUR_MAX = 500'));
    commits.push(commit(`Round ${round}`));
    typed(round < 3 ? 0 : 1, 'test', '--repeat', '2', ...(round === 1 ? ['--accept'] : []));
  }
  const { stdout } = typed(0, 'history', 'basics', '--open', '--json');
  expect(JSON.parse(stdout)).toEqual({ report: path.relative(project, page), opened: false });
}, 300_000);

afterAll(async () => {
  await browser.close();
  rmSync(project, { recursive: true, force: true });
});

function typed(code: number, ...args: string[]) {
  const ran = proctor(args, { cwd: project, env: { BROWSER: '', DISPLAY: '', WAYLAND_DISPLAY: '' } });
  expect(ran.code, ran.stdout + ran.stderr).toBe(code);
  return ran;
}

function commit(subject: string): string {
  gitIn(project, 'add', '--all');
  const author = ['-c', 'user.name=an author', '-c', 'user.email=author@example.org', '-c', 'commit.gpgsign=false'];
  gitIn(project, ...author, 'commit', '-q', '--allow-empty', '-m', subject);
  return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: project, encoding: 'utf8' }).trim();
}

describe('the page of a suite', () => {
  test('says at which commit a case started to fail, and why', async () => {
    const { page: shown, complaints, asked } = await opened(browser, page);
    await shown.getByRole('heading', { name: 'Cases that changed' }).waitFor();
    expect(await shown.locator('h1').textContent()).toMatch(
      /^1 of 4 cases fails\. “large-refund” has failed since \d{4}/,
    );
    const [changed, ...others] = await shown.locator('.changed-case').allTextContents();
    expect(others).toEqual([]);
    expect(changed).toContain(`commit ${commits[2]?.slice(0, 9)}`);
    expect(changed).toContain('Cause: The candidate called “refunds.create”');
    expect(await shown.locator('.history-chart h4').allTextContents()).toEqual([
      'Pass rate ',
      'Flakiness ',
      'Latency p50p95',
    ]);
    expect(complaints).toEqual([]);
    expect(asked).toEqual([]);
    await pictured(shown, 'history');
  });

  test('shows every case in every run, and links cells to the reports of comparisons', async () => {
    const { page: shown } = await opened(browser, page);
    const row = shown.locator('.heat tbody tr').first();
    expect(await row.locator('.cell .unseen').allTextContents()).toEqual([
      'passed (2 of 2 trials passed)',
      'passed (2 of 2 trials passed)',
      'failed (0 of 2 trials passed)',
      'failed (0 of 2 trials passed)',
      'failed (0 of 2 trials passed)',
    ]);
    // The first test had no baseline, so there is no comparison to link to.
    expect(await row.locator('a.cell').count()).toBe(4);
    await row.locator('a.cell').last().click();
    await shown.getByText('First divergence').first().waitFor();
    expect(new URL(shown.url()).hash).toBe('#case=large-refund');
  });

  test('opens a case with the keyboard, and goes back', async () => {
    const { page: shown } = await opened(browser, page);
    await shown.locator('.changed-case a').focus();
    await shown.keyboard.press('Enter');
    await shown.getByRole('heading', { name: 'Trials' }).waitFor();
    expect(new URL(shown.url()).hash).toBe('#suite=basics&case=large-refund');
    const rows = await shown.locator('.table-box tbody tr').allTextContents();
    expect(rows).toHaveLength(5);
    expect(rows[2]).toContain('starts to fail');
    expect(rows[2]).toContain(commits[2]?.slice(0, 9));
    await shown.goBack();
    await shown.getByRole('heading', { name: 'Cases that changed' }).waitFor();
  });

  test('starts with the case that the user asked for', async () => {
    const file = path.join(project, 'case.html');
    typed(0, 'history', 'large-refund', '--html', 'case.html');
    const { page: shown } = await opened(browser, file);
    await shown.getByRole('heading', { name: 'large-refund', exact: true }).waitFor();
    await shown.getByRole('link', { name: 'basics' }).click();
    await shown.getByRole('heading', { name: 'Cases that changed' }).waitFor();
    expect(await shown.locator('.heat tbody tr').count()).toBe(4);
  });

  test.each([
    ['a desktop, light', {}],
    ['a desktop, dark', { colorScheme: 'dark' }],
    ['a phone, light', PHONE],
    ['a phone, dark', { ...PHONE, colorScheme: 'dark' }],
  ] as const)('is accessible and fits on %s', async (_, options) => {
    for (const hash of ['', '#suite=basics&case=large-refund']) {
      const { page: shown } = await opened(browser, page, hash, options);
      await shown.locator('.history-part').first().waitFor();
      expect(await pageFindings(shown)).toEqual([]);
    }
  });

  test('prints its charts and tables', async () => {
    const { page: shown } = await opened(browser, page);
    await shown.emulateMedia({ media: 'print' });
    expect((await shown.pdf({ format: 'A4' })).length).toBeGreaterThan(10_000);
    expect(await shown.locator('.heat').evaluate(box => getComputedStyle(box).overflowX)).toBe('visible');
  });
});

describe('a history of 1,000 runs with 200 cases', () => {
  const file = path.join(project, 'many.html');
  const elements = (shown: Page): Promise<number> => shown.evaluate('document.querySelectorAll("*").length');

  beforeAll(() => {
    written(project, 'many', htmlPage(historyPage(longHistory(1_000, 200))));
  });

  test('draws a bounded number of elements, and pages through cases and runs', async () => {
    const { page: shown, complaints } = await opened(browser, file);
    await shown.getByRole('heading', { name: 'Every case in every run' }).waitFor();
    expect(await elements(shown)).toBeLessThan(ELEMENTS_MAX);
    const cases = shown.getByRole('group', { name: 'Pages of cases' });
    expect(await cases.getByRole('status').innerText()).toBe('cases 1 to 25 of 200');
    await cases.getByRole('button', { name: 'Next' }).focus();
    await shown.keyboard.press('Enter');
    expect(await cases.getByRole('status').innerText()).toBe('cases 26 to 50 of 200');
    expect(await shown.locator('.heat tbody th').first().innerText()).toBe('case-25');
    await cases.getByRole('button', { name: 'Previous' }).click();
    expect(await shown.locator('.heat tbody th').first().innerText()).toBe('case-0');
    const runs = shown.getByRole('group', { name: 'Pages of runs' });
    for (let page = 1; page < 20; page++) await runs.getByRole('button', { name: 'Next' }).click();
    expect(await runs.getByRole('status').innerText()).toBe('runs 951 to 1,000 of 1,000');
    expect(await runs.getByRole('button', { name: 'Next' }).isDisabled()).toBe(true);
    await shown.keyboard.press('Enter');
    expect(await shown.locator('.table-box tbody tr').last().locator('td').first().innerText()).toBe('1');
    expect(await elements(shown)).toBeLessThan(ELEMENTS_MAX);
    expect(await findings(shown)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test('fits on a phone, although its widest table scrolls', async () => {
    const { page: shown } = await opened(browser, file, '', PHONE);
    await shown.getByRole('heading', { name: 'Every case in every run' }).waitFor();
    expect(await shown.locator('.heat').evaluate(box => box.scrollWidth > box.clientWidth)).toBe(true);
    expect(await overflow(shown)).toBe(0);
  });

  test('shows 50 of the 1,000 trials of a case, and fits on a phone', async () => {
    const { page: shown } = await opened(browser, file, '#suite=many&case=case-7', PHONE);
    await shown.getByRole('heading', { name: 'Trials' }).waitFor();
    expect(await shown.locator('.table-box tbody tr').count()).toBe(50);
    expect(await elements(shown)).toBeLessThan(ELEMENTS_MAX);
    expect(await overflow(shown)).toBe(0);
    expect(await findings(shown)).toEqual([]);
  });
});

/** Without paging, the page has 74,000 elements. */
const ELEMENTS_MAX = 12_000;

function longHistory(runs: number, cases: number): History {
  const startedAt = (run: number): string => instantText(Date.parse('2026-01-06T12:00:00.000Z') + 3_600_000 * run);
  const suite: SuiteHistory = {
    name: 'many',
    side: 'new',
    older_runs: 0,
    flakiness: 0,
    states: { fails: 0, flaky: 0, fixed: 0, gone: 0, unknown: 0, passes: cases },
    runs: Array.from({ length: runs }, (_, run) => ({
      run_id: `suite_20260106_120000_${String(run).padStart(12, '0')}`,
      side: 'new',
      started_at: startedAt(run),
      commit: String(run).padStart(40, '0'),
      dirty: false,
      model: 'a model',
      agent_version: '1.0',
      target: 'http://127.0.0.1:8787',
      trials: 1,
      partial: false,
      pass_rate: { rate: 1, low: 0.98, high: 1 },
      cases: { passed: cases, failed: 0, mixed: 0, unknown: 0 },
      latency_ms: { p50: 10, p95: 20 },
      cost_usd: 0.1,
      unpriced: 0,
      flakiness: 0,
      report: `../suite-${run}/report.html`,
    })),
    cases: Array.from({ length: cases }, (_, index) => ({
      case_id: `case-${index}`,
      state: 'passes',
      since: null,
      flakiness: 0,
      trials: Array.from({ length: runs }, () => 'p'),
      latency_ms: Array.from({ length: runs }, () => 10),
      cost_usd: Array.from({ length: runs }, () => 0.001),
      changed: [],
      message: null,
      cause: null,
    })),
  };
  return {
    generated_at: startedAt(runs),
    suites: [suite],
    suites_total: 1,
    suite: 'many',
    case_id: null,
    unreadable: [],
    unreadable_total: 0,
    unfinished: 0,
    not_read: 0,
  };
}

const HOSTILE = '<img src=x onerror=alert(1)>\u202e.json';

describe('a page of many suites', () => {
  const file = path.join(project, 'all.html');

  /** Two suites, with hostile names and texts. */
  beforeAll(async () => {
    const world = new HistoryWorld(mkdtempSync(path.join(project, 'hostile-')));
    const model = '</script><script>alert(1)</script>';
    const texts = { run: { cases_path: HOSTILE }, request: { provenance: { model } } };
    for (const letters of ['pp', 'pf', 'fp', 'ff'])
      await world.add({ cases: { one: letters, two: 'pp' }, ...texts, expects: '<b>yes</b>', costUsd: 0.01 });
    await world.add({ cases: { three: 'p' }, suite: 'calm' });
    await world.add({ cases: { three: 'p' }, suite: 'calm', side: 'baseline', expects: 'other' });
    const { code, stderr } = proctor(['history', '--html', file], { cwd: world.cwd });
    expect(code, stderr).toBe(0);
  });

  test('lists the suites, failing ones first, and shows hostile names as text', async () => {
    const { page: shown, complaints } = await opened(browser, file);
    const cards = shown.locator('.suite-card');
    await cards.first().waitFor();
    expect(await cards.locator('a').allTextContents()).toEqual(['<img src=x onerror=alert(1)>U+202E.json', 'calm']);
    await pictured(shown, 'history-suites');
    await cards.first().locator('a').click();
    await shown.getByRole('heading', { name: 'Every case in every run' }).waitFor();
    await pictured(shown, 'history-hostile');
    expect(await shown.locator('.changed-case').first().textContent()).toContain('does not contain "<b>yes</b>"');
    expect(await shown.locator('td', { hasText: '</script><script>' }).count()).toBe(4);
    expect(await shown.locator('img, b, script[src]').count()).toBe(0);
    expect(await findings(shown)).toEqual([]);
    expect(complaints).toEqual([]);
    await shown.getByRole('link', { name: 'All suites' }).click();
    await cards.first().waitFor();
  });

  test('tells the two sides apart by shape, and marks a changed case', async () => {
    const { page: shown } = await opened(browser, file, '#suite=calm');
    await shown.getByText('Circles are candidate runs, squares are baseline runs.').waitFor();
    expect(await shown.locator('.series.baseline rect').count()).toBeGreaterThan(0);
    expect(await shown.locator('.heat td.changed').count()).toBe(1);
  });

  test('says that there are no runs', async () => {
    const folder = path.join(project, 'empty');
    mkdirSync(path.join(folder, '.proctor', 'runs'), { recursive: true });
    expect(proctor(['history', '--html', 'none.html'], { cwd: folder }).code).toBe(0);
    const { page: shown } = await opened(browser, path.join(folder, 'none.html'));
    expect(await shown.locator('h1').textContent()).toBe('No suite has been run here yet.');
    expect(await findings(shown)).toEqual([]);
  });
});

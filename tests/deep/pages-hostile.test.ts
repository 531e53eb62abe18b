import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import { htmlReport } from '../../src/reports/html.ts';
import { agentPage } from '../../src/reports/pages/agent-page.ts';
import type { History, HistoryCase, HistoryRun } from '../../src/reports/pages/history-data.ts';
import { historyPage } from '../../src/reports/pages/history-page.ts';
import { htmlPage } from '../../src/reports/pages/html-page.ts';
import { launch, opened, written } from '../reports/browser.ts';
import { HOSTILE, linesFrom, manyCalls, pageInput } from '../reports/pages/agent-page-world.ts';
import { reportWorld } from '../reports/report-world.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'proctor-hostile-'));
let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterEach(() => Promise.all(browser.contexts().map(context => context.close())));
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

/** More elements than this make a page slow. */
const ELEMENTS_MAX = 100_000;

/** The page is there, small, and shows text as text, with every hidden character named. */
async function holds({ page, complaints, asked }: Awaited<ReturnType<typeof opened>>): Promise<void> {
  expect({ complaints, asked }).toEqual({ complaints: [], asked: [] });
  expect(await page.locator('h1').count()).toBeGreaterThan(0);
  expect(await page.locator('#app img, #app b, #app script, #app iframe').count()).toBe(0);
  expect(await page.locator('*').count()).toBeLessThan(ELEMENTS_MAX);
  expect(await hiddenIn(page)).toEqual([]);
}

/** Texts and attributes that contain a character that hides or reorders text. */
const hiddenIn = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2066-\u2069]/;
    return [...document.querySelectorAll('#app *')].flatMap(element => {
      const texts = [...element.childNodes].flatMap(node => (node.nodeType === 3 ? (node.nodeValue ?? '') : []));
      const said = ['title', 'aria-label', 'placeholder'].flatMap(name => element.getAttribute(name) ?? []);
      return [...texts, ...said].filter(text => hidden.test(text)).map(text => text.slice(0, 80));
    });
  });

const MEMBERS = ['__proto__', 'constructor', 'toString', 'valueOf'];
const NUL = '\u0000'.repeat(60_000);

test('an agent cannot break its page with names, floods of hidden characters, or lines of many tokens', async () => {
  const lines = Array.from({ length: 700 }, () => `+${'a("b",1);'.repeat(110)}`);
  const diff = `diff --git a/e.ts b/e.ts\n--- a/e.ts\n+++ b/e.ts\n@@ -0,0 +1,${lines.length} @@\n${lines.join('\n')}\n`;
  const input = pageInput(
    path.join(folder, 'run'),
    {
      finalText: NUL,
      lines: linesFrom([
        ...MEMBERS.flatMap(tool => [
          { kind: 'tool_call' as const, call: tool, tool, input: { text: NUL } },
          { kind: 'tool_result' as const, call: tool, ok: true, output: { text: NUL }, exit_code: null },
        ]),
        { kind: 'message', role: 'assistant', body: { text: HOSTILE }, at: Number.MAX_SAFE_INTEGER },
        ...manyCalls(2_000, '\u202e'.repeat(300)),
      ]),
    },
    diff,
  );
  const file = written(folder, 'agent', htmlPage(agentPage(input)));
  await holds(await opened(browser, file));
  await holds(await opened(browser, file, '#line=__proto__&q=%00&part=constructor&diff=split'));
});

/** A report whose first case has this answer. */
function reportOf(name: string, content: unknown, over: Partial<CaseArtifact> = {}): string {
  const world = reportWorld({ cases: 4, regressed: 2, trials: 2 });
  const cases = world.comparison.cases.map(one => ({
    ...one,
    tags: [...MEMBERS, HOSTILE],
    new: { trials: one.new.trials.map(trial => ({ ...trial, cost_usd: 1e308, latency_ms: 1e308 })) },
  }));
  return written(
    folder,
    name,
    htmlReport({
      ...world,
      comparison: { ...world.comparison, cases },
      pairs: id => {
        const pair = world.pairs(id);
        const now = { ...pair.new, final_output: { content_type: 'text', content }, ...over };
        return { ...pair, new: now as CaseArtifact };
      },
    }),
  );
}

function nested(depth: number): unknown {
  return depth === 0 ? HOSTILE : { ['__proto__']: nested(depth - 1), constructor: depth, 'a[b]c]': [depth] };
}

test.each([
  ['a name that could be tried at each of its lengths', `<${'a-'.repeat(50_000)}>${'x'.repeat(90_000)}`],
  ['a flood of hidden characters', NUL],
  ['a line of 1 MB', 'word '.repeat(200_000)],
  ['deep JSON with names that every object has', nested(90)],
])('an answer cannot break its report: %s', async (_, content) => {
  await holds(await opened(browser, reportOf('answer', content), '#case=refunds-00001'));
});

test.each([
  '#sort=__proto__',
  '#sort=constructor&tag=toString&cause=__proto__&change=constructor',
  '#case=refunds-00001&at=new:a[b]c]',
  '#case=refunds-00001&at=%5D&trial=__proto__:1,new:NaN',
  '#case=__proto__&view=constructor',
  '#case=%23a%26case%3Db%27%22%3C',
  '#view=overview&q=%00%E2%80%AE((((a%2B)%2B)%2B',
])('an address cannot break the report: %s', async hash => {
  const shown = await opened(browser, reportOf('addressed', HOSTILE), hash);
  await holds(shown);
  expect(await shown.page.evaluate('1 + 1')).toBe(2);
});

test('a history of 1,000 runs and 200 hostile cases stays usable', async () => {
  const runs = Array.from(
    { length: 1_000 },
    (_, index): HistoryRun => ({
      run_id: `run-${index}`,
      side: 'new',
      started_at: '9999-12-31T23:59:59.999Z',
      commit: HOSTILE,
      dirty: null,
      model: HOSTILE,
      agent_version: null,
      target: HOSTILE,
      trials: 1,
      partial: false,
      pass_rate: null,
      cases: { passed: 1, failed: 1, mixed: 0, unknown: 0 },
      latency_ms: { p50: 5e-324, p95: Number.MAX_VALUE },
      cost_usd: 1e308,
      unpriced: 0,
      flakiness: null,
      report: null,
    }),
  );
  const cases = Array.from(
    { length: 200 },
    (_, index): HistoryCase => ({
      case_id: MEMBERS[index] ?? `case-${index}`,
      state: 'fails',
      since: null,
      flakiness: null,
      trials: runs.map(() => 'f'),
      latency_ms: runs.map(() => 1e308),
      cost_usd: runs.map(() => null),
      changed: [],
      message: HOSTILE,
      cause: HOSTILE,
    }),
  );
  const states = { fails: 200, flaky: 0, fixed: 0, gone: 0, unknown: 0, passes: 0 };
  const suite = { name: '__proto__', side: 'new' as const, runs, older_runs: 0, cases, states, flakiness: null };
  const history: History = {
    generated_at: '2026-01-06T12:00:00.000Z',
    suites: [suite],
    suites_total: 1,
    suite: null,
    case_id: null,
    unreadable: [{ run_id: HOSTILE, why: HOSTILE }],
    unreadable_total: 1,
    unfinished: 0,
    not_read: 0,
  };
  const file = written(folder, 'history', htmlPage(historyPage(history)));
  await holds(await opened(browser, file, '#suite=__proto__'));
  await holds(await opened(browser, file, '#suite=__proto__&case=constructor'));
  await holds(await opened(browser, file, '#suite=constructor&case=%23a%26case%3Db'));
});

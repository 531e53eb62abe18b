import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { agentRunExample, type CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import { htmlReport, htmlRunReport } from '../../src/reports/html.ts';
import { launch, opened, overflow, PHONE, pictured, findings, written } from '../reports/browser.ts';
import { reportWorld, runWorld } from '../reports/report-world.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'proctor-report-'));
const world = reportWorld({ cases: 10_000, regressed: 37, improved: 12, flaky: 6, missing: 9, trials: 3 });
const regressed = world.comparison.cases.filter(({ change }) => change === 'regressed');
const caseOf = (kind: string): string => regressed.find(({ divergence }) => divergence?.kind === kind)?.case_id ?? '';

let browser: Browser;
let large: string;

beforeAll(async () => {
  browser = await launch();
  large = written(folder, 'large', htmlReport(world));
});
afterEach(() => Promise.all(browser.contexts().map(context => context.close())));
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

const shownRows = (page: Page): Promise<number> => page.locator('.case').count();

describe('a comparison of 10,000 cases, opened from disk', () => {
  test('shows its verdict, makes no requests and causes no browser errors', async () => {
    const { page, complaints, asked } = await opened(browser, large);
    expect(await page.locator('h1').innerText()).toBe(world.comparison.reason);
    expect(await page.locator('.verdict .word').first().innerText()).toBe('Regression');
    expect(await page.locator('.coverage').innerText()).toContain('This page shows 264 of 10,000 cases in full');
    await page.locator('.case').first().click();
    expect(await page.locator('h2').innerText()).toContain('A damaged item is refunded');
    expect({ complaints, asked }).toEqual({ complaints: [], asked: [] });
  });

  test('draws only the visible rows, at every scroll position', async () => {
    const { page } = await opened(browser, large);
    for (const share of [0, 0.5, 1]) {
      await page.evaluate(
        `{ const pane = document.querySelector('.side'); pane.scrollTop = pane.scrollHeight * ${share}; }`,
      );
      // A row is drawn near the end of the list.
      await expect
        .poll(() =>
          page.evaluate(
            "(() => { const { left, bottom } = document.querySelector('.side').getBoundingClientRect(); return document.elementFromPoint(left + 80, bottom - 30).closest('.case') !== null; })()",
          ),
        )
        .toBe(true);
      expect(await shownRows(page)).toBeLessThan(60);
    }
    expect(await page.locator('.case').last().innerText()).toContain('Same');
  });

  test('keeps its filters in the URL, through a reload', async () => {
    const { page } = await opened(browser, large);
    await page.getByRole('link', { name: '37 Regressed' }).click();
    await page.getByLabel('Suite').selectOption('shipping');
    await page.getByLabel('Search cases').fill('parcel');
    await expect.poll(() => page.url()).toMatch(/#change=regressed&suite=shipping&q=parcel$/);
    const status = (): Promise<string> => page.getByRole('status').innerText();
    const found = await status();
    expect(found).toMatch(/^\d of 10,000 cases$/);
    await page.reload();
    await expect.poll(status).toBe(found);
    expect(await page.getByLabel('Search cases').inputValue()).toBe('parcel');
    await page.getByRole('link', { name: 'Clear filters' }).click();
    await expect.poll(status).toBe('10,000 cases');
    await page.getByLabel('Search cases').fill('no such words');
    expect(await page.locator('.empty').innerText()).toContain('No case matches');
  });

  test('works with the keyboard alone', async () => {
    const { page } = await opened(browser, large);
    const focused = (): Promise<string> =>
      page.evaluate("document.activeElement.closest('.case')?.getAttribute('href') ?? ''");
    await page.keyboard.press('j');
    await expect.poll(focused).toContain(regressed[0]?.case_id);
    await page.keyboard.press('j');
    await expect.poll(focused).toContain(regressed[1]?.case_id);
    await page.keyboard.press('ArrowDown');
    await expect.poll(focused).toContain(regressed[2]?.case_id);
    await page.keyboard.press('k');
    await expect.poll(focused).toContain(regressed[1]?.case_id);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toContain(`case=${regressed[1]?.case_id}`);
    // The URL changes before the case is drawn; until then, keys move in the list.
    await page.locator('.detail').waitFor();
    await page.keyboard.press('j');
    await expect.poll(() => page.url()).toContain(`case=${regressed[2]?.case_id}`);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.url()).not.toContain('case=');
    await expect.poll(focused).toContain(regressed[2]?.case_id);
    await page.keyboard.press('/');
    await page.keyboard.type('billing-');
    await expect.poll(() => page.url()).toContain('q=billing-');
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    expect(await page.getByRole('dialog').innerText()).toContain('next and previous case');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  });

  test('shows why a case failed and where its sides differ, and links each citation to its event', async () => {
    const { page, complaints } = await opened(browser, large, `#case=${caseOf('tool_arguments')}`);
    expect(await page.locator('.assertions').innerText()).toContain('does not contain “EUR”');
    expect(await page.locator('.cause').innerText()).toContain('high confidence');
    const first = page.locator('.event[data-first=true]');
    expect(await first.count()).toBe(1);
    expect(await first.innerText()).toMatch(/First divergence[\s\S]*Arguments[\s\S]*order_id[\s\S]*absent/);
    await page.getByRole('link', { name: 'baseline events[1]' }).click();
    await expect.poll(() => page.locator('.pointed').getAttribute('data-at')).toContain('baseline:events[1]');
    await page.getByRole('link', { name: 'final_output.content' }).click();
    await expect.poll(() => page.locator('.pointed').getAttribute('class')).toContain('output');
    expect(complaints).toEqual([]);
  });

  test('says when a case has only a row and no details', async () => {
    const last = world.comparison.cases.findLast(({ change }) => change === 'same')?.case_id;
    const { page } = await opened(browser, large, `#case=${last}`);
    expect(await page.locator('.detail').innerText()).toContain('only a row');
    await page.goto(`${page.url().split('#')[0]}#case=nobody`);
    await expect.poll(() => page.locator('.detail').innerText()).toContain('No such case');
  });

  test.each([
    ['light', '', 'overview-light', {}],
    ['dark', '', 'overview-dark', { colorScheme: 'dark' }],
    ['light, with a case', `#case=${caseOf('tool_arguments')}`, 'case-detail', {}],
    ['dark, with a case', `#case=${caseOf('tool_choice')}`, 'case-detail-dark', { colorScheme: 'dark' }],
    ['light, on a phone', '', 'phone', PHONE],
    ['light, on a phone with a case', `#case=${caseOf('tool_arguments')}`, 'phone-case', PHONE],
    ['dark, on a phone with the overview', '#view=overview', 'phone-overview', { ...PHONE, colorScheme: 'dark' }],
  ] as const)('is accessible and no wider than its window: %s', async (_, hash, name, options) => {
    const { page } = await opened(browser, large, hash, options);
    await page.locator('.app').waitFor();
    await pictured(page, name);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    expect(await findings(page)).toEqual([]);
  });

  test('shows the id of a case in its row', async () => {
    const { page } = await opened(browser, large);
    const [first] = regressed;
    expect(await page.locator('.case').first().innerText()).toContain(first?.case_id);
  });

  test.each(['#view=overview', `#case=${caseOf('tool_arguments')}`])(
    'has no table wider than a phone: %s',
    async hash => {
      const { page } = await opened(browser, large, hash, PHONE);
      await page.locator('.table-box').first().waitFor();
      const beyond = await page.evaluate(
        "[...document.querySelectorAll('.table-box')].filter(box => box.scrollWidth > box.clientWidth).length",
      );
      expect(beyond).toBe(0);
    },
  );

  test('switches its theme on request', async () => {
    const { page } = await opened(browser, large);
    const paper = (): Promise<string> => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
    const before = await paper();
    await page.getByRole('button', { name: /^Theme: auto/ }).click();
    await page.getByRole('button', { name: /^Theme: light/ }).click();
    await expect.poll(paper).not.toBe(before);
  });
});

describe('a hostile agent', () => {
  const small = reportWorld({ cases: 1, regressed: 1 });
  const pair = small.pairs('refunds-00001');
  const reportOf = (content: string): string =>
    written(
      folder,
      'hostile',
      htmlReport({
        ...small,
        pairs: () => ({
          ...pair,
          new: { ...pair.new, final_output: { content_type: 'text', content }, events: [] } as CaseArtifact,
        }),
      }),
    );
  const mark = 'document.title="owned";top.document.title="owned";';
  const html = `<!doctype html><html><body><style>p{padding-top:60px}</style><p style="font-size:33px">hello</p>
    <script>${mark}fetch("https://example.com/")</script><img src="https://example.com/x.png" onerror='${mark}'>
    <meta http-equiv="refresh" content="0;url=https://example.com/"><iframe src="https://example.com/frame"></iframe>
    <form action="https://example.com/"><button autofocus onfocus='${mark}'>send</button></form>
    <a id="out" href="https://example.com/link" target="_top">out</a></body></html>`;

  test('gets its HTML shown as text, and on request as an inert page', async () => {
    const { page, asked } = await opened(browser, reportOf(html), '#case=refunds-00001');
    expect(await page.locator('iframe').count()).toBe(0);
    expect(await page.locator('.output').innerText()).toContain('<script>');
    await page.getByRole('button', { name: 'Show as a page' }).click();
    const frame = page.frameLocator('iframe');
    await frame.locator('p').waitFor();
    // Its own styles work, although the report's policy does not list them.
    expect(await page.locator('iframe').getAttribute('sandbox')).toBe('');
    const { height } = (await frame.locator('p').boundingBox()) ?? { height: 0 };
    expect(height).toBeGreaterThan(60 + 33);
    await frame.locator('#out').click();
    await page.waitForTimeout(300);
    expect(await page.title()).toBe('refunds-00001 · Proctor');
    expect(page.url()).toContain('hostile.html');
    expect(asked.filter(url => url.startsWith('http'))).toEqual([]);
  });

  test('opens no connection with its HTML page, whatever the HTML requests', async () => {
    let connections = 0;
    const server = createServer(socket => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', () => resolve()));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const at = `http://127.0.0.1:${port}`;
    const hints = [
      'preconnect',
      'dns-prefetch',
      'prefetch',
      'preload',
      'prerender',
      'modulepreload',
      'stylesheet',
      'icon',
    ];
    const links = hints.map(rel => `<link rel="${rel}" href="${at}/${rel}" as="image" crossorigin>`).join('');
    const hostile = `<!doctype html><html><head>${links}<base href="${at}/"><meta http-equiv="refresh" content="0;url=${at}/">
      <meta http-equiv="Link" content="<${at}>; rel=preconnect"><meta http-equiv="x-dns-prefetch-control" content="on">
      <style>@import "${at}/a.css"; p { background: url(${at}/b.png) }</style></head><body><p id="there">hello</p>
      <a href="${at}/k" ping="${at}/l" id="out">out</a>
      <svg><style><link rel="preconnect" href="${at}/svg"></style><image href="${at}/c.png"/></svg>
      <math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;link rel=preconnect href=${at}/m&gt;"></table></math>
      <noscript><p title="</noscript>${links}"></noscript><template>${links}</template><textarea></textarea>${links}
      <img src="${at}/d.png" srcset="${at}/e.png 2x"><video src="${at}/f" poster="${at}/g"></video>
      <object data="${at}/h"></object><embed src="${at}/i"><iframe src="${at}/j"></iframe></body></html>`;
    const { page } = await opened(browser, reportOf(hostile), '#case=refunds-00001');
    await page.getByRole('button', { name: 'Show as a page' }).click();
    const frame = page.frameLocator('iframe');
    await frame.locator('#there').waitFor();
    await frame.locator('#out').click();
    // A connection from the page would arrive before this one.
    await new Promise<void>((resolve, reject) => {
      connect(port, '127.0.0.1')
        .once('close', () => resolve())
        .once('error', reject);
    });
    expect(connections).toBe(1);
    expect(await frame.locator('link, base, img[src], [href]').count()).toBe(0);
  });

  test('cannot hide text with control characters or text direction', async () => {
    const { page } = await opened(
      browser,
      reportOf('safe \u202egnp.exe\u202c \u0007 \ud800 end'),
      '#case=refunds-00001',
    );
    const text = await page.locator('.output').innerText();
    expect(text).toContain('U+202E');
    expect(text).toContain('U+0007');
    expect(text).not.toContain('\u202e');
  });
});

describe('other reports', () => {
  test('a comparison without cases says so', async () => {
    const { page, complaints } = await opened(browser, written(folder, 'empty', htmlReport(reportWorld({ cases: 0 }))));
    expect(await page.locator('main').innerText()).toContain('There are no cases.');
    expect(await page.locator('.empty').innerText()).toContain('No cases');
    await pictured(page, 'empty');
    expect(await findings(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test('a run shows one side', async () => {
    const file = written(folder, 'run', htmlRunReport(runWorld({ cases: 200, regressed: 10 })));
    const { page, complaints } = await opened(browser, file);
    expect(await page.locator('h1').innerText()).toBe('190 passed, 8 failed, 2 errors.');
    await pictured(page, 'run');
    await page.locator('.case').first().click();
    expect(await page.locator('.detail').innerText()).not.toContain('Baseline');
    await pictured(page, 'run-case');
    expect(await findings(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test('a truncated file says so', async () => {
    const whole = [...htmlReport(reportWorld({ cases: 20, regressed: 2 }))].join('');
    const file = written(folder, 'cut', [whole.slice(0, whole.indexOf('id="case-5"') - 40)]);
    const { page } = await opened(browser, file);
    expect(await page.locator('.coverage').innerText()).toContain('This file is incomplete');
  });
});

test('an agent case shows the denials and changes of both sides', async () => {
  const small = reportWorld({ cases: 3, regressed: 1 });
  const path = '<img src=x onerror=alert(1)>.md';
  const run = {
    ...agentRunExample,
    changes: {
      ...agentRunExample.changes,
      files: { total: 1, listed: [{ path, change: 'add', added: 12, removed: 3 }] },
    },
  };
  const file = written(
    folder,
    'agent',
    htmlReport({
      ...small,
      pairs: id => {
        const pair = small.pairs(id);
        const clean = { ...agentRunExample, violations: { total: 0, listed: [] }, flags: [], changes: null };
        return {
          ...pair,
          baseline: { ...pair.baseline, agent_run: clean } as CaseArtifact,
          new: { ...pair.new, agent_run: run } as CaseArtifact,
        };
      },
    }),
  );
  const { case_id } = small.comparison.cases.find(({ change }) => change === 'regressed') ?? { case_id: '' };
  for (const [name, options] of Object.entries({ wide: {}, narrow: PHONE })) {
    const { page, complaints, asked } = await opened(browser, file, `#case=${case_id}`, options);
    const table = page.getByRole('region', { name: 'What the agent did' });
    const text = await table.innerText();
    for (const words of ['native_policy_block Write', 'denied_then_success: ', `add ${path} +12 −3`, 'unknown'])
      expect(text, name).toContain(words);
    expect(await overflow(page), name).toBeLessThanOrEqual(0);
    expect(await findings(page), name).toEqual([]);
    expect({ complaints, asked }, name).toEqual({ complaints: [], asked: [] });
    await pictured(page, `agent-run-${name}`);
  }
});

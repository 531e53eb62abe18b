/** Pages of a suite run and a comparison that have a file that was changed after sealing. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compareRuns } from '../../src/verbs/compare.ts';
import { findings, launch, opened, overflow, PHONE, pictured } from '../reports/browser.ts';
import { proctor } from '../support/support.ts';
import { HistoryWorld } from '../verbs/history/world.ts';

let browser: Browser;
const cwd = mkdtempSync(path.join(tmpdir(), 'proctor-damaged-'));
const world = new HistoryWorld(cwd);
let candidate = '';
let comparison = '';
beforeAll(async () => {
  browser = await launch();
  const baseline = await world.add({ cases: { one: 'p', two: 'p' }, side: 'baseline' });
  candidate = await world.add({ cases: { one: 'f', two: 'p' } });
  comparison = (await compareRuns({ baseline, candidate, cwd })).folder;
  const file = path.join(world.home, 'runs', 'new', candidate, 'one.json');
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('nothing', 'a forged answer'));
});
afterAll(async () => {
  await browser.close();
  rmSync(cwd, { recursive: true, force: true });
});

test.each([
  ['a suite run', () => candidate, 'The sealed verdict says: Not all passed.', {}],
  ['a comparison', () => comparison, 'The sealed verdict says: ', { ...PHONE, colorScheme: 'dark' }],
] as const)(
  'the page of %s says first that it does not verify, and marks the case',
  async (name, word, sealed, look) => {
    const { code, stdout, stderr } = proctor(['view', word(), '--no-open'], { cwd });
    expect(code, stderr).toBe(0);
    expect(stderr).toContain(`warning: ${candidate} does not match its seal: one.json is missing or was changed.`);
    const file = path.join(cwd, stdout.trim());
    const { page, complaints } = await opened(browser, file, '', look);
    expect(await page.locator('.word').first().innerText()).toBe('Does not verify');
    expect(await page.locator('h1').innerText()).toBe('The evidence was changed after it was sealed.');
    expect(await page.locator('.verdict-details').innerText()).toContain(sealed);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    expect(await findings(page)).toEqual([]);
    await pictured(page, `damaged-${name.replaceAll(' ', '-')}`);
    await page.goto(`${page.url().split('#')[0]}#case=one`);
    await page.getByText('a forged answer').first().waitFor();
    expect(await page.locator('main .note').first().innerText()).toContain(
      'The answer of the candidate was changed after its run was sealed. It proves nothing.',
    );
    expect(complaints).toEqual([]);
  },
);

test('refuses a JUnit report of a changed run', () => {
  const { code, stderr } = proctor(['report', candidate, '--format', 'junit'], { cwd });
  expect([code, stderr]).toEqual([
    2,
    `error: ${candidate} does not match its seal: one.json is missing or was changed. Run proctor verify for details.\n`,
  ]);
});

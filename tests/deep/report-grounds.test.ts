import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { htmlReport } from '../../src/reports/html.ts';
import { launch, opened, overflow, PHONE, pictured, findings, written } from '../reports/browser.ts';
import { identical, notWorse, withoutDecision, withReruns, withSuspect } from '../reports/verdict-world.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'proctor-grounds-'));
const WORLDS = { suspect: withSuspect, reruns: withReruns, 'not-worse': notWorse, identical, old: withoutDecision };

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterEach(() => Promise.all(browser.contexts().map(context => context.close())));
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

const pageOf = (name: keyof typeof WORLDS): string =>
  written(folder, name, htmlReport({ comparison: WORLDS[name](), pairs: () => ({}) }));

const LOOKS = [
  ['light', {}],
  ['dark', { colorScheme: 'dark' }],
  ['phone', PHONE],
  ['phone-dark', { ...PHONE, colorScheme: 'dark' }],
] as const;

describe.each(Object.keys(WORLDS) as (keyof typeof WORLDS)[])('the overview of %s', name => {
  test.each(LOOKS)('is accessible and no wider than its window: %s', async (look, options) => {
    const { page, complaints } = await opened(browser, pageOf(name), '#view=overview', options);
    await page.locator('.overview').waitFor();
    await pictured(page, `grounds-${name}-${look}`);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    expect(await findings(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});

test('a suspect is listed with its counts, reachable by keyboard, and marked in the list', async () => {
  const { page } = await opened(browser, pageOf('suspect'));
  const table = page.getByRole('region', { name: 'Broken and suspect cases' });
  expect(await table.locator('tbody tr').innerText()).toMatch(/refund-7\s+Suspect\s+2\/2\s+0\/2/);
  expect(await page.locator('.case').first().innerText()).toMatch(/suspect[\s\S]*2\/2 → 0\/2/);
  await table.getByRole('link', { name: 'refund-7' }).focus();
  await page.keyboard.press('Enter');
  await expect.poll(() => page.url()).toContain('case=refund-7');
});

test('the pass rates are drawn, and screen readers get the same numbers', async () => {
  const { page } = await opened(browser, pageOf('suspect'));
  const plot = page.getByRole('img', { name: /^Pass rate: baseline 100 % \(88\.6 % to 100 %\), candidate 96\.7 %/ });
  expect(await plot.locator('.reach').count()).toBe(2);
  expect(await page.locator('.grounds').innerText()).toMatch(/Ruled out[\s\S]*Power[\s\S]*To settle it/);
});

test('repeated trials are marked, and planned ones are not', async () => {
  const { page } = await opened(browser, pageOf('reruns'), '#case=refund-3');
  const trials = page.getByRole('region', { name: 'Trials' });
  await trials.waitFor();
  expect(await trials.locator('tbody tr').count()).toBe(12);
  expect(await trials.getByText('run again').count()).toBe(10);
});

test('a comparison without a recorded decision shows no explanation', async () => {
  const { page } = await opened(browser, pageOf('old'));
  await page.locator('.overview').waitFor();
  expect(await page.locator('.grounds').count()).toBe(0);
  expect(await page.locator('.case').first().innerText()).toContain('2/2 → 0/2');
});

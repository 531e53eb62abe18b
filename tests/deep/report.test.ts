import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { htmlReport } from '../../src/reports/html.ts';
import { launch, opened, written } from '../reports/browser.ts';
import { reportWorld } from '../reports/report-world.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'proctor-report-'));
let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('a comparison of 100,000 cases', () => {
  const world = reportWorld({ cases: 100_000, regressed: 500, flaky: 50, improved: 50 });

  test('can be listed, searched, sorted and scrolled to its end, in a page within its size limit', async () => {
    const file = written(folder, 'huge', htmlReport(world));
    expect(statSync(file).size).toBeLessThanOrEqual(25_000_000);
    const { page, complaints, asked } = await opened(browser, file);
    expect(await page.getByRole('status').innerText()).toBe('100,000 cases');
    expect(await page.locator('.coverage').innerText()).toContain('This page shows 800 of 100,000 cases in full');
    await page.getByRole('combobox', { name: 'Order', exact: true }).selectOption('slowest');
    await page.evaluate("{ const pane = document.querySelector('.side'); pane.scrollTop = pane.scrollHeight; }");
    await expect.poll(() => page.locator('.cases li').last().getAttribute('aria-posinset')).toBe('100000');
    expect(await page.locator('.case').count()).toBeLessThan(60);
    await page.getByLabel('Search cases').fill('billing-099996');
    await page.getByLabel('Search cases').fill('99996');
    await expect.poll(() => page.getByRole('status').innerText()).toMatch(/^\d of 100,000 cases$/);
    expect({ complaints, asked }).toEqual({ complaints: [], asked: [] });
  });

  test('whose cases all changed is cut at its size limit, and says what is missing', async () => {
    const file = written(folder, 'changed', htmlReport(reportWorld({ cases: 100_000, regressed: 100_000 })));
    const size = statSync(file).size;
    expect(size).toBeLessThanOrEqual(25_000_000);
    expect(size).toBeGreaterThan(24_000_000);
    const { page } = await opened(browser, file);
    await page.waitForLoadState('domcontentloaded');
    expect(await page.locator('.coverage').innerText()).toMatch(/more cases do not fit in full/);
  });
});

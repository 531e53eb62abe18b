import type { Page } from 'playwright-core';
import { findings, overflow, PHONE } from '../reports/browser.ts';

/** What is wrong with a page on a desktop and on a phone, in both themes: findings of axe, and overflow. */
export async function badLooks(page: Page): Promise<string[]> {
  const bad: string[] = [];
  for (const [width, viewport] of Object.entries(WIDTHS)) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark'] as const) {
      const look = `${width}-${colorScheme}`;
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const wider = await overflow(page);
      const found = [...(wider > 0 ? [`${wider} pixels wider than the window`] : []), ...(await findings(page))];
      bad.push(...found.map(one => `${look}: ${one}`));
    }
  }
  return bad;
}

const WIDTHS = { desktop: { width: 1280, height: 800 }, phone: PHONE.viewport };

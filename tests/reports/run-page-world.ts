import path from 'node:path';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { expect, test } from 'vitest';
import { Place } from '../support/runs.ts';
import { findings, opened, overflow, PHONE, pictured, printedFindings } from './browser.ts';

/** A project with real runs, made with the built command line, and their pages. */
export class RunPages extends Place {
  /** Runs something, and writes its page. */
  page(args: readonly string[], env: NodeJS.ProcessEnv = {}): string {
    const ran = this.proctor(['run', ...args], { env });
    expect(ran.code, ran.stderr).toBeLessThan(2);
    return this.pageOf('latest');
  }

  pageOf(word: string): string {
    const { code, stdout, stderr } = this.proctor(['view', word, '--no-open']);
    expect(code, stderr).toBe(0);
    return path.join(this.cwd, stdout.trim());
  }
}

const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  light: {},
  dark: { colorScheme: 'dark' },
  phone: PHONE,
  'phone-dark': { ...PHONE, colorScheme: 'dark' },
};

/** Every page is accessible, requests nothing, and fits its window, on desktops and phones, in light and dark. */
export function looksWell(
  name: string,
  browser: () => Browser,
  file: () => string,
  looks: readonly string[] = Object.keys(LOOKS),
): void {
  test.each(looks)(`the page of ${name} is accessible, fits its window and needs no network: %s`, async look => {
    const { page, complaints, asked } = await opened(browser(), file(), '', LOOKS[look]);
    await page.locator('.run-page').waitFor();
    await pictured(page, `run-${name.replaceAll(' ', '-')}-${look}`);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    expect(await findings(page)).toEqual([]);
    expect(await printedFindings(page)).toEqual([]);
    expect({ complaints, asked }).toEqual({ complaints: [], asked: [] });
  });
}

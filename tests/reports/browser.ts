import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page, type Request } from 'playwright-core';
import { ROOT } from '../support.ts';

/** The browser of the machine. Without a sandbox, because tests may run as root; all it opens is written by them. */
export const launch = (): Promise<Browser> =>
  chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });

/** Writes the pieces of a page to a file and returns the file. */
export function written(folder: string, name: string, pieces: Iterable<string>): string {
  const file = path.join(folder, `${name}.html`);
  const fd = openSync(file, 'w');
  try {
    for (const piece of pieces) writeSync(fd, piece);
  } finally {
    closeSync(fd);
  }
  return file;
}

export interface Opened {
  readonly page: Page;
  /** Everything that the browser complained about: errors, and what the policy of the page has refused. */
  readonly complaints: string[];
  /** Every address that a request left for, but for the file itself. */
  readonly asked: string[];
}

/** Opens a file as a person would, and watches what it does. */
export async function opened(
  browser: Browser,
  file: string,
  hash = '',
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    reducedMotion: 'reduce',
    ...options,
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  const asked: string[] = [];
  const address = pathToFileURL(file).href;
  page.on('console', message => void (message.type() === 'error' && complaints.push(message.text())));
  page.on('pageerror', error => void complaints.push(String(error)));
  const left = (request: Request): void => {
    // What the policy of the page holds back never leaves it.
    const isHeldBack = request.failure()?.errorText === 'csp';
    if (!isHeldBack && request.url().split('#')[0] !== address) asked.push(request.url());
  };
  page.on('requestfinished', left);
  page.on('requestfailed', left);
  await page.goto(`${address}${hash}`);
  return { page, complaints, asked };
}

/** Pictures are build output: nobody compares them, people look at them. */
export async function pictured(page: Page, name: string): Promise<void> {
  const folder = path.join(ROOT, 'build', 'screenshots');
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
}

/** A phone, held upright. */
export const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true };

/** How far the page reaches beyond its window. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - innerWidth');

/** What axe finds and calls serious or critical, with the places. */
export async function seriousFindings(page: Page): Promise<string[]> {
  // The policy of the page lets no script in but its own; the debugger's way is open to tests alone.
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> };
    };
    const { violations } = await axe.run();
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
  });
}

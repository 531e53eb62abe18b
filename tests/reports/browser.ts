import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page, type Request } from 'playwright-core';
import { ROOT } from '../support/support.ts';

/** The machine's browser. It runs without a sandbox, because tests may run as root; it opens only test pages. */
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
  /** All errors and policy violations that the browser reports. */
  readonly complaints: string[];
  /** Every requested address except the file itself. */
  readonly asked: string[];
}

/** Opens a file as a user would, and records what it does. */
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
    // Requests that the page's policy blocks never leave the page.
    const isHeldBack = request.failure()?.errorText === 'csp';
    if (!isHeldBack && request.url().split('#')[0] !== address) asked.push(request.url());
  };
  page.on('requestfinished', left);
  page.on('requestfailed', left);
  await page.goto(`${address}${hash}`);
  return { page, complaints, asked };
}

/** Screenshots are build output for people; no test compares them. */
export async function pictured(page: Page, name: string): Promise<void> {
  const folder = path.join(ROOT, 'build', 'screenshots');
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
}

/** A phone in portrait orientation. */
export const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true };

/** By how many pixels the page is wider than its window. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - innerWidth');

/** Pairs of labels that overlap in a drawing. */
const overlappingLabels = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll('svg')].flatMap(svg => {
      const labels = [...svg.querySelectorAll('text')]
        .map(text => ({ says: text.textContent, box: text.getBoundingClientRect() }))
        .filter(({ box }) => box.width > 0);
      return labels.flatMap(({ says, box }, index) =>
        labels
          .slice(index + 1)
          .filter(
            ({ box: other }) =>
              Math.min(box.right, other.right) - Math.max(box.left, other.left) > 1 &&
              Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top) > 3,
          )
          .map(other => `${says} and ${other.says}`),
      );
    }),
  );

/** Everything wrong with how a page looks: findings of axe, on screen and printed, overlapping labels, and overflow. */
export async function pageFindings(page: Page): Promise<string[]> {
  const wider = await overflow(page);
  return [
    ...(wider > 0 ? [`${wider} pixels wider than the window`] : []),
    ...(await findings(page)),
    ...(await printedFindings(page)),
    ...(await overlappingLabels(page)),
  ];
}

/** The moderate, serious and critical findings of axe, with their locations. */
export async function findings(page: Page): Promise<string[]> {
  // The page's policy blocks foreign scripts; only the debugger protocol can inject axe.
  await page.evaluate(axe.source);
  return page.evaluate(async wanted => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> };
    };
    const { violations } = await axe.run();
    return violations
      .filter(({ impact }) => wanted.includes(impact))
      .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
  }, IMPACTS);
}

const IMPACTS = ['moderate', 'serious', 'critical'];

/** The same for the printed page. */
export async function printedFindings(page: Page): Promise<string[]> {
  await page.emulateMedia({ media: 'print' });
  const found = await findings(page);
  await page.emulateMedia({ media: null });
  return found;
}

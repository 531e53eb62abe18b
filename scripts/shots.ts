/**
 * `npm run shots`: takes a picture of every page, on a desktop and a phone, in light and dark, and writes them to
 * build/shots/. The pictures in the README and docs are among them. All pages show real runs.
 */
import { mkdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium } from 'playwright-core';
import { shootLive } from './shots-live.ts';
import { PICTURES } from './shots-pictures.ts';
import { ShotsWorld } from './shots-world.ts';

interface Shot {
  readonly name: string;
  readonly file: string;
  /** The view in the page, such as `#case=refund-large`. */
  readonly hash?: string;
}

const DEVICES = {
  desktop: { viewport: { width: 1440, height: 900 }, deviceScaleFactor: 1 },
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true },
} as const;
const THEMES = ['light', 'dark'] as const;

const root = process.cwd();
const folder = path.join(root, 'build', 'shots');
const world = new ShotsWorld();
const shots = await made(world);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
try {
  for (const shot of shots) await photograph(browser, shot);
  for (const picture of PICTURES) {
    if (picture.shot === 'live') await shootLive(browser, world.folder, picture);
    else await forDocs(browser, picture);
    console.log(`${picture.file}: ${Math.round(statSync(path.join(root, picture.file)).size / 1000)} kB`);
  }
} finally {
  await browser.close();
}

function example(name: string): string {
  return path.join(root, 'examples', name);
}

/** Runs everything once, and writes every page. */
async function made(world: ShotsWorld): Promise<Shot[]> {
  const released = await world.suite('baseline', [], 5);
  await world.suite('new', [], 5);
  await world.suite('new', [], 5);
  await world.suite('new', ['--new'], 5);
  world.proctor(1, 'compare');
  const broken = await world.suite('new', ['--new'], 5);
  world.proctor(1, 'compare');
  const comparison = world.comparison();
  const run = world.page('new');
  const history = path.join(world.folder, 'history.html');
  world.proctor(0, 'history', '--html', history);
  world.proctor(0, 'run', 'script', example('report.py'), '--input', example('orders.csv'));
  const script = world.page();
  world.proctor(1, 'run', 'script', example('hostile.py'));
  const hostile = world.page();
  world.agent();
  const agent = world.page();
  world.proctor(0, 'run', 'intent', example('intent/build-config.json'), '--mode', 'execute-sandbox');
  const intent = world.page();
  world.proctor(1, 'run', 'intent', example('intent/vague.json'));
  const clarify = world.page();
  world.proctor(1, 'run', 'intent', example('intent/forbidden.json'));
  const refuse = world.page();
  const mended = await world.suite('new', [], 5);
  const matrix = world.matrix(1, { released, broken, mended });
  const coding = await world.coding();
  return [
    { name: 'overview', file: comparison },
    { name: 'case', file: comparison, hash: '#case=refund-large' },
    { name: 'suite-run', file: run },
    { name: 'history', file: history },
    { name: 'history-case', file: history, hash: '#suite=cases.yaml&case=refund-large' },
    { name: 'agent', file: agent },
    { name: 'script', file: script },
    { name: 'script-hostile', file: hostile },
    { name: 'intent', file: intent },
    { name: 'intent-clarify', file: clarify },
    { name: 'intent-refuse', file: refuse },
    { name: 'matrix', file: matrix },
    { name: 'coding', file: coding },
  ];
}

async function photograph(browser: Browser, { name, file, hash = '' }: Shot): Promise<void> {
  for (const [device, options] of Object.entries(DEVICES)) {
    for (const theme of THEMES) {
      const context = await browser.newContext({
        ...options,
        colorScheme: theme,
        reducedMotion: 'reduce',
        timezoneId: 'UTC',
      });
      const page = await context.newPage();
      await page.goto(`${pathToFileURL(file).href}${hash}`);
      await page.locator('h1').first().waitFor();
      const base = path.join(folder, `${name}-${device}-${theme}`);
      await page.screenshot({ path: `${base}.png` });
      await page.evaluate(DRAW_ALL);
      await page.screenshot({ path: `${base}-whole.png`, fullPage: true });
      await context.close();
    }
  }
}

/** A browser does not draw rows far below the window, which a picture of the whole page would show as gaps. */
const DRAW_ALL = `new Promise(drawn => {
  for (const one of document.querySelectorAll('*')) one.style.contentVisibility = 'visible';
  requestAnimationFrame(() => requestAnimationFrame(drawn));
})`;

async function forDocs(browser: Browser, picture: (typeof PICTURES)[number]): Promise<void> {
  const { file, shot: name, width, height, scale } = picture;
  const shot = shots.find(one => one.name === name);
  if (!shot) throw new Error(`There is no page named ${name}.`);
  const page = await browser.newPage({
    viewport: { width, height },
    deviceScaleFactor: scale,
    colorScheme: 'light',
    reducedMotion: 'reduce',
    timezoneId: 'UTC',
  });
  await page.goto(`${pathToFileURL(shot.file).href}${shot.hash ?? ''}`);
  await page.locator('h1').first().waitFor();
  await page.screenshot({ path: path.join(root, file) });
  await page.close();
}

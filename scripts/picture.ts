/**
 * `npm run picture`: writes docs/report.png, the picture in the README. It compares the two versions of the example
 * agent with the built command line, opens the HTML report in Chromium, and takes a screenshot of a regressed case.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { PICTURE } from './picture-size.ts';

const CASE = 'refund-large';
const root = process.cwd();
const folder = mkdtempSync(path.join(tmpdir(), 'proctor-picture-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const [baseline, candidate] = await Promise.all([startAgent(), startAgent('--new')]);
runSuite(baseline.url, 'baseline');
runSuite(candidate.url, 'new');
for (const { child } of [baseline, candidate]) child.kill();
proctor(1, 'compare');
await photograph(reportFile(), path.join(root, PICTURE.file));
console.log(`${PICTURE.file}: ${Math.round(statSync(path.join(root, PICTURE.file)).size / 1000)} kB`);

function runSuite(url: string, side: string): void {
  const cases = path.join(root, 'examples', 'suite', 'cases.yaml');
  proctor(side === 'new' ? 1 : 0, 'run', 'suite', cases, '--base-url', url, '--as', side, '--repeat', '5');
}

function proctor(exit: number, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync(process.execPath, [path.join(root, 'dist', 'proctor.js'), ...args], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 120_000,
  });
  if (status !== exit) throw new Error(`proctor ${args.join(' ')} exited with ${status}, not ${exit}:\n${stderr}`);
}

function reportFile(): string {
  const comparisons = path.join(folder, '.proctor', 'comparisons');
  const [id = ''] = readdirSync(comparisons);
  return path.join(comparisons, id, 'report.html');
}

async function photograph(report: string, file: string): Promise<void> {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  });
  try {
    const page = await browser.newPage({
      viewport: { width: PICTURE.width, height: PICTURE.height },
      deviceScaleFactor: PICTURE.scale,
      colorScheme: 'light',
      reducedMotion: 'reduce',
      timezoneId: 'UTC',
    });
    await page.goto(`${pathToFileURL(report).href}#case=${CASE}`);
    await page.locator('h2').first().waitFor();
    await page.screenshot({ path: file });
  } finally {
    await browser.close();
  }
}

async function startAgent(...flags: readonly string[]): Promise<{ url: string; child: ChildProcess }> {
  const agent = path.join(root, 'examples', 'suite', 'agent.mjs');
  const child = spawn(process.execPath, [agent, '--port', '0', ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
  process.on('exit', () => child.kill());
  const greeting = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('The example agent did not start.')));
    child.stdout.setEncoding('utf8').once('data', resolve);
  });
  return { url: /http:\S+/.exec(greeting)?.[0] ?? '', child };
}

/**
 * The first five minutes: an ordinary user on a clean Debian 12, with Node in a home folder and nothing else, installs
 * Proctor, creates a project, gets a verdict, makes the agent worse, and gets the other verdict.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launch, opened } from '../reports/browser.ts';
import { nodeReleases, packInto } from '../support/tarball.ts';

const debian =
  process.env['PROCTOR_DEBIAN_CACHE'] ||
  path.join(process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'), 'proctor-debian-12');
/** Only root can create the system and enter it. `npm run test:deep` creates it. */
const isThere = process.getuid?.() === 0 && existsSync(debian);

const folder = mkdtempSync(path.join(tmpdir(), 'proctor-first-contact-'));
const system = path.join(folder, 'system');
const HOME = '/home/alex';
const outside = (place: string): string => path.join(system, place);

interface Typed {
  readonly code: number | null;
  readonly said: string;
  readonly seconds: number;
}

/** What alex typed until the first verdict. */
const typed: Typed[] = [];

/** Runs a line as alex types it. The command sees only the processes and files of the clean system. */
function alex(line: string): Typed {
  const enter = `mount -t proc proc "$0/proc" && mount -t tmpfs -o mode=1777 shm "$0/dev/shm" && exec chroot --userspec=1000:1000 "$0" "$@"`;
  const variables = [
    `HOME=${HOME}`,
    `PATH=${HOME}/node/bin:${HOME}/.local/bin:/usr/bin:/bin`,
    'LANG=C.UTF-8',
    `npm_config_registry=${registry()}`,
  ];
  const words = ['--mount', '--pid', '--fork', '--kill-child', '/bin/sh', '-c', enter, system];
  const command = ['/usr/bin/env', '-i', ...variables, '/bin/bash', '-c', `cd ${HOME}/project && ${line}`];
  const startedAt = performance.now();
  const { status, stdout, stderr } = spawnSync('unshare', [...words, ...command], {
    encoding: 'utf8',
    timeout: 300_000,
  });
  return { code: status, said: stdout + stderr, seconds: (performance.now() - startedAt) / 1000 };
}

/** The registry that this machine uses: npm's cache is keyed by its address. */
function registry(): string {
  return execFileSync('npm', ['config', 'get', 'registry'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
}

describe.runIf(isThere)('on a clean Debian 12, an ordinary user', () => {
  let browser: Browser;

  beforeAll(async () => {
    execFileSync('cp', ['-a', '--reflink=auto', debian, system]);
    execFileSync('chroot', [system, 'useradd', '--create-home', '--uid', '1000', '--shell', '/bin/bash', 'alex']);
    placeNode(outside(`${HOME}/node`));
    mkdirSync(outside(`${HOME}/project`));
    const tarball = packInto(outside(HOME));
    // Downloads what the tarball depends on, so that the measured time does not depend on the network.
    const cache = outside(`${HOME}/.npm`);
    const flags = ['--no-audit', '--no-fund', '--prefix', path.join(folder, 'elsewhere'), '--cache', cache];
    execFileSync('npm', ['install', '--global', ...flags, tarball], { stdio: 'ignore' });
    execFileSync('chown', ['-R', '1000:1000', outside(HOME)]);
    chmodSync(outside(HOME), 0o700);
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('has neither a sandbox nor a compiler nor Node in /usr', () => {
    expect(alex('command -v bwrap python3 git gcc; id -u; ls /usr/bin/node /usr/local/bin').said).toMatch(/^1000\n/);
  });

  test('installs, creates a project and gets a verdict with three commands', () => {
    typed.push(alex('npm install --global --offline --no-audit --no-fund --prefix ~/.local ~/proctor-*.tgz'));
    typed.push(alex('proctor init --yes'));
    typed.push(alex('proctor test'));
    for (const { code, said } of typed) expect(code, said).toBe(0);
    expect(typed[2]?.said).toContain('20 of 20 trials passed: 4 cases, 5 times each.');
    const seconds = typed.map(each => each.seconds);
    const words = typed.map(({ said }) => said.split(/\s+/).filter(Boolean).length);
    const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
    console.log(
      `first verdict: ${typed.length} commands, ${sum(seconds).toFixed(1)} s (${seconds.map(each => each.toFixed(1)).join(' + ')}), ${sum(words)} words (${words.join(' + ')})`,
    );
    expect(typed).toHaveLength(3);
  });

  test('makes the agent worse, and learns which case broke and why', () => {
    expect(alex('proctor test --accept')).toMatchObject({ code: 0 });
    const file = outside(`${HOME}/project/agent.mjs`);
    const agent = readFileSync(file, 'utf8');
    expect(agent).toContain('const REFUND_EUR_MAX = 50;');
    writeFileSync(file, agent.replace('const REFUND_EUR_MAX = 50;', 'const REFUND_EUR_MAX = 500;'));
    const { code, said } = alex('proctor test');
    expect(code, said).toBe(1);
    expect(said).toContain('large-refund');
    expect(said).toMatch(/called “refunds\.create” where the baseline called “tickets\.create”/);
  });

  test('opens the report in a browser', async () => {
    const report = outside(`${HOME}/project/.proctor/reports/test/basics/report.html`);
    const { page, complaints, asked } = await opened(browser, report);
    expect(await page.locator('.verdict .word').first().innerText()).toBe('Regression');
    expect(await page.locator('body').innerText()).toContain('large-refund');
    expect({ complaints, asked }).toEqual({ complaints: [], asked: [] });
  });

  test('learns once that scripts need a sandbox, and how to get one', () => {
    const { code, said } = alex('proctor doctor');
    expect(code).toBe(1);
    expect(said).toContain('sudo apt-get install --yes bubblewrap');
    writeFileSync(outside(`${HOME}/project/hello.mjs`), "console.log('hello');\n");
    const refused = alex('proctor run script hello.mjs');
    expect(refused.code).toBe(2);
    expect(refused.said).toMatch(
      /^error: The sandbox needs programs that are not installed: bwrap\. Run proctor doctor/,
    );
  });
});

/** A Node with npm, as its archive contains them. */
function placeNode(target: string): void {
  mkdirSync(path.join(target, 'bin'), { recursive: true });
  cpSync(nodeReleases().get('22') as string, path.join(target, 'bin', 'node'));
  const npm = realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim());
  cpSync(path.dirname(path.dirname(npm)), path.join(target, 'lib', 'node_modules', 'npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', path.join(target, 'bin', 'npm'));
}

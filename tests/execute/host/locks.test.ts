import { type ChildProcess, spawn } from 'node:child_process';
import { lstatSync, lutimesSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { expect, onTestFinished, test } from 'vitest';
import { takeLock } from '../../../src/execute/host/locks.ts';
import { temporaryFolder } from '../../support/support.ts';

test('a lock has one holder, and is free after it is closed', () => {
  const folder = temporaryFolder();
  const first = takeLock(folder, 'a');
  expect(takeLock(folder, 'a')).toBeUndefined();
  expect(takeLock(folder, 'b')).toBeDefined();
  first?.close();
  expect(takeLock(folder, 'a')).toBeDefined();
});

test('a lock is free after its holder is killed, and one waiting process gets it', async () => {
  const folder = temporaryFolder();
  const holder = await holding(folder, 'takes');
  expect(takeLock(folder, 'a')).toBeUndefined();
  holder.kill('SIGKILL');
  await ended(holder);
  const taken = [1, 2, 3].map(() => takeLock(folder, 'a')).filter(lock => lock !== undefined);
  expect(taken).toHaveLength(1);
  expect(readdirSync(folder)).toEqual(['a']);
  taken[0]?.close();
  expect(readdirSync(folder)).toEqual([]);
});

test('a lock is never held by two processes at once, even if its holders are killed', async () => {
  const folder = temporaryFolder();
  const said: string[] = [];
  for (let round = 0; round < 4; round++) {
    const all = await Promise.all([1, 2, 3].map(() => holding(folder, 'dies')));
    for (const each of all) each.stdout?.on('data', text => said.push(String(text)));
    await Promise.all(all.map(ended));
  }
  expect(said.join('')).not.toContain('together');
  expect(takeLock(folder, 'a')).toBeDefined();
  expect(readdirSync(folder).filter(name => name !== 'inside')).toEqual(['a']);
});

test('removes successors that died before they took over', () => {
  const folder = temporaryFolder();
  takeLock(folder, 'a');
  const [, , , boot] = readlinkSync(path.join(folder, 'a')).split('.');
  const space = readlinkSync(path.join(folder, 'a')).split('.')[0];
  const dead = (no: number): string => `${space}.${2 ** 22 + no}.7.${boot}.${String(no).padStart(16, '0')}`;
  symlinkSync(dead(1), path.join(folder, 'b'));
  symlinkSync(dead(2), path.join(folder, `b.${dead(1)}`));
  symlinkSync(dead(3), path.join(folder, `b.${dead(2)}`));
  expect(takeLock(folder, 'b')).toBeDefined();
  expect(readdirSync(folder)).toEqual(['a', 'b']);
});

test('a lock held on another machine or in another container expires after a minute', () => {
  const folder = temporaryFolder();
  for (const [name, holder] of [
    ['machine', '1.2.3.00000000.0123456789abcdef'],
    ['container', `1.2.3.${bootOf(folder)}.0123456789abcdef`],
  ] as const) {
    symlinkSync(holder, path.join(folder, name));
    expect(takeLock(folder, name)).toBeUndefined();
    const { mtimeMs } = lstatSync(path.join(folder, name));
    lutimesSync(path.join(folder, name), (mtimeMs - 61_000) / 1000, (mtimeMs - 61_000) / 1000);
    expect(takeLock(folder, name)).toBeDefined();
  }
});

test.each(['a file', 'a link'])('does not treat %s that Proctor did not create as a lock', what => {
  const folder = temporaryFolder();
  if (what === 'a file') writeFileSync(path.join(folder, 'a'), '');
  else symlinkSync('../../etc/passwd', path.join(folder, 'a'));
  expect(() => takeLock(folder, 'a')).toThrow('Proctor did not create a. Remove it if no run is in progress.');
});

function bootOf(folder: string): string {
  const lock = takeLock(folder, 'mine');
  const [, , , boot = ''] = readlinkSync(path.join(folder, 'mine')).split('.');
  lock?.close();
  return boot;
}

/**
 * A process that takes the lock and keeps it, or takes turns with others until it kills itself while holding it.
 */
async function holding(folder: string, act: 'takes' | 'dies'): Promise<ChildProcess> {
  const script = path.join(temporaryFolder(), 'holder.mjs');
  await build({
    stdin: { contents: PROGRAM, resolveDir: import.meta.dirname, loader: 'ts' },
    outfile: script,
    bundle: true,
    format: 'esm',
    platform: 'node',
  });
  const child = spawn(process.execPath, [script, folder, act], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await new Promise(resolve => child.stdout.once('data', resolve));
  return child;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await new Promise(resolve => child.once('exit', resolve));
}

const PROGRAM = `
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { isAlive } from '../../../src/execute/host/processes.ts';
import { takeLock } from '../../../src/execute/host/locks.ts';
const [folder, act] = process.argv.slice(2) as [string, string];
if (act === 'takes') takeLock(folder, 'a');
writeSync(1, 'ready\\n');
if (act === 'takes') process.stdin.resume();
else for (let left = 100; ; ) {
  const lock = takeLock(folder, 'a');
  if (!lock) continue;
  const inside = folder + '/inside';
  try {
    closeSync(openSync(inside, 'wx'));
  } catch {
    if (isAlive(Number(readFileSync(inside, 'utf8') || 0))) writeSync(1, 'together\\n');
    rmSync(inside, { force: true });
  }
  const fd = openSync(inside, 'w');
  writeSync(fd, String(process.pid));
  closeSync(fd);
  if (left-- === 0) process.kill(process.pid, 'SIGKILL');
  rmSync(inside, { force: true });
  lock.close();
}
`;

import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { TAR_END, tarHead } from '../../src/base/tar.ts';
import { fileHash } from '../../src/base/file-hash.ts';
import { packOf, SCRIPT_RUN, scriptFolder, verdictsOf } from '../evidence/pack/pack-world.ts';
import { captureOf, finishRun, put, succeeded } from '../evidence/script/script-world.ts';
import { suiteFolder } from '../support/suite-world.ts';
import { ROOT, temporaryFolder } from '../support/support.ts';

test('detects every changed byte of a pack', async () => {
  const file = await packOf(await scriptFolder({ 'output/a.txt': 'aaa', 'output/ä': '' }));
  const bytes = readFileSync(file);
  const fd = openSync(file, 'r+');
  const missed: number[] = [];
  for (const [at, byte] of bytes.entries()) {
    writeSync(fd, Buffer.of(byte ^ (1 << (at % 8))), 0, 1, at);
    if ((await verdictsOf(file)).at(-1)?.outcome === 'valid') missed.push(at);
    writeSync(fd, bytes, at, 1, at);
  }
  closeSync(fd);
  expect(missed).toEqual([]);
  expect((await verdictsOf(file)).at(-1)?.outcome).toBe('valid');
});

const PRELOAD = `data:text/javascript,process.on('exit',()=>process.stderr.write('peak '+process.resourceUsage().maxRSS+' '))`;

/** Runs the command line and returns its peak memory. */
function measured(args: readonly string[], cwd: string): { code: number | null; stdout: string; peakMb: number } {
  const program = path.join(ROOT, 'dist', 'proctor.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', PRELOAD, program, ...args], {
    cwd,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  return { code: status, stdout, peakMb: Number(/peak (\d+)/.exec(stderr)?.[1]) / 1024 };
}

test('packs, verifies and unpacks 20,000 cases in little more memory than verifying their folder takes', async () => {
  const cwd = temporaryFolder();
  const cases = Array.from({ length: 20_000 }, (_, index) => ({ id: `case-${index}` }));
  const folder = await suiteFolder(cwd, { cases });
  const steps = [
    ['verify', folder],
    ['pack', folder, '--out', 'a.proctor.tar'],
    ['verify', 'a.proctor.tar'],
    ['unpack', 'a.proctor.tar', '--to', 'out'],
  ];
  const [before, ...runs] = steps.map(args => measured(args, cwd));
  expect(runs.map(({ code }) => code)).toEqual([0, 0, 0]);
  // Memory for the name, size and offset of each file, but not for its content.
  for (const { peakMb } of runs) expect(peakMb).toBeLessThan(1.7 * (before?.peakMb ?? 0));
});

test('packs, verifies and unpacks a file of a gigabyte with no more memory than a small one needs', async () => {
  const cwd = temporaryFolder();
  const peaks = [];
  for (const bytes of [1_000, 2 ** 30]) {
    const folder = path.join(temporaryFolder(), 'runs', 'script', SCRIPT_RUN);
    put(folder, 'output/big.bin', '');
    truncateSync(path.join(folder, 'output', 'big.bin'), bytes);
    const sha256 = fileHash(path.join(folder, 'output', 'big.bin')) ?? '';
    const reading = succeeded({ 'output/big.bin': '' });
    const files = [{ path: 'output/big.bin', bytes, sha256 }];
    await finishRun(folder, captureOf({ how: 'exited', code: 0 }), {
      ...reading,
      files,
      artifacts: { ...reading.artifacts, bytes },
    });
    const file = `${bytes}.proctor.tar`;
    const steps = [
      ['pack', folder, '--out', file],
      ['verify', file],
      ['unpack', file, '--to', String(bytes)],
    ];
    const runs = steps.map(args => measured(args, cwd));
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(statSync(path.join(cwd, String(bytes), 'output', 'big.bin')).size).toBe(bytes);
    peaks.push(runs.map(({ peakMb }) => peakMb));
    rmSync(path.join(cwd, file));
  }
  const [small = [], large = []] = peaks;
  for (const [index, peak] of large.entries()) expect(peak).toBeLessThan((small[index] ?? 0) + 30);
});

test('stops reading an archive with too many folders', async () => {
  const cwd = temporaryFolder();
  const fd = openSync(path.join(cwd, 'deep.proctor.tar'), 'w');
  for (let count = 0; count < 100_000; count += 1_000) {
    const heads = Array.from({ length: 1_000 }, (_, index) =>
      tarHead(`folder/${String(count + index).padStart(7, '0')}/${'abcdef/'.repeat(31)}a`, 0),
    );
    writeSync(fd, Buffer.concat(heads));
  }
  writeSync(fd, TAR_END);
  closeSync(fd);
  const { code, stdout, peakMb } = measured(['verify', 'deep.proctor.tar'], cwd);
  expect(code).toBe(3);
  expect(stdout).toContain('is one of more than 1,000,000 files and folders');
  expect(peakMb).toBeLessThan(600);
});

test('stops reading an archive with too many files', async () => {
  const cwd = temporaryFolder();
  const fd = openSync(path.join(cwd, 'bomb.proctor.tar'), 'w');
  for (let count = 0; count < 520_000; count += 1_000) {
    const heads = Array.from({ length: 1_000 }, (_, index) =>
      tarHead(`folder/${String(count + index).padStart(7, '0')}`, 0),
    );
    writeSync(fd, Buffer.concat(heads));
  }
  writeSync(fd, TAR_END);
  closeSync(fd);
  const { code, stdout, peakMb } = measured(['verify', 'bomb.proctor.tar'], cwd);
  expect(code).toBe(3);
  expect(stdout).toContain('contains more than 500,000 entries');
  expect(peakMb).toBeLessThan(600);
});

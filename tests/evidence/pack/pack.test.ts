import {
  chmodSync,
  cpSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
  closeSync,
} from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { packFile } from '../../../src/evidence/pack/pack-file.ts';
import { digestsIn, writeFolder } from '../../../src/evidence/pack/unpack.ts';
import { packRun, unpack } from '../../../src/verbs/index.ts';
import { suiteFolder } from '../../support/suite-world.ts';
import { temporaryFolder } from '../../support/support.ts';
import {
  archive,
  bytesIn,
  entry,
  fileOf,
  packOf,
  scriptFolder,
  SCRIPT_RUN,
  tampered,
  textIn,
  verdictsOf,
} from './pack-world.ts';
import { expectValid, put } from '../script/script-world.ts';

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(one => one.isFile())
    .map(one => path.relative(folder, path.join(one.parentPath, one.name)))
    .sort();

describe('a folder always gives the same pack', () => {
  test('regardless of time, location, permissions and user', async () => {
    const folder = await scriptFolder();
    const cwd = temporaryFolder();
    const first = await packRun(folder, { cwd, out: 'first.tar' });
    const copy = path.join(temporaryFolder(), 'elsewhere', 'x');
    cpSync(folder, copy, { recursive: true });
    for (const file of filesIn(copy)) {
      utimesSync(path.join(copy, file), 1, 1);
      chmodSync(path.join(copy, file), 0o600);
    }
    const before = process.umask(0o077);
    try {
      const second = await packRun(copy, { cwd, out: 'second.tar' });
      expect(second.sha256).toBe(first.sha256);
    } finally {
      process.umask(before);
    }
    expect(bytesIn(path.join(cwd, 'second.tar')).equals(bytesIn(path.join(cwd, 'first.tar')))).toBe(true);
  });

  test('with its internal files, and after it was unpacked with them', async () => {
    const folder = await scriptFolder();
    const cwd = temporaryFolder();
    const { file, leftOut } = await packRun(folder, { cwd, internal: true });
    expect(leftOut).toBe(0);
    await unpack(file, { cwd });
    expect(filesIn(path.join(cwd, SCRIPT_RUN))).toEqual(filesIn(folder));
    expect(statSync(path.join(cwd, SCRIPT_RUN, 'evidence', 'internal')).mode & 0o777).toBe(0o700);
    await packRun(path.join(cwd, SCRIPT_RUN), { cwd, internal: true, out: 'again.tar' });
    expect(bytesIn(path.join(cwd, 'again.tar')).equals(bytesIn(file))).toBe(true);
    await expectValid(path.join(cwd, SCRIPT_RUN));
  });
});

describe('packing', () => {
  test('refuses a folder that does not verify, names the first violation and leaves nothing', async () => {
    const cwd = temporaryFolder();
    const spoil: [(folder: string) => void, RegExp][] = [
      [folder => put(folder, 'output/a.txt', 'aab'), /SL5 output\/a\.txt was changed after it was sealed/],
      [folder => put(folder, 'output/more.txt', 'x'), /SL6 output\/more\.txt/],
      [folder => put(folder, 'journal.ndjson', ''), /SL7|journal/],
      [folder => rmSync(path.join(folder, 'evidence', 'runner.json')), /FD8|SL5/],
      [folder => symlinkSync('a.txt', path.join(folder, 'output', 'link')), /FD1 output\/link is a link/],
      [folder => rmSync(path.join(folder, 'evidence', 'seal.json')), /SL5 evidence\/seal\.json is missing/],
    ];
    for (const [change, message] of spoil) {
      const folder = await scriptFolder();
      change(folder);
      await expect(packRun(folder, { cwd })).rejects.toThrow(message);
      expect(readdirSync(cwd)).toEqual([]);
    }
  });

  test('fails with a message that reveals no path of the machine', async () => {
    const folder = await scriptFolder();
    put(folder, 'evidence/runner.json', '{}');
    const error: unknown = await packRun(folder, { cwd: temporaryFolder() }).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain('evidence/runner.json: RN1');
    expect(String(error)).not.toContain(path.dirname(folder));
  });

  test('overwrites nothing', async () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'a.tar'), 'mine');
    await expect(packRun(await scriptFolder(), { cwd, out: 'a.tar' })).rejects.toThrow('already exists');
    expect(readFileSync(path.join(cwd, 'a.tar'), 'utf8')).toBe('mine');
  });

  test('leaves nothing if it is interrupted', async () => {
    const cwd = temporaryFolder();
    const signal = AbortSignal.abort();
    await expect(packRun(await scriptFolder(), { cwd, signal })).rejects.toThrow('Interrupted. Nothing was written.');
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('includes internal files only if they exist', async () => {
    const folder = await scriptFolder();
    rmSync(path.join(folder, 'evidence', 'internal'), { recursive: true });
    const cwd = temporaryFolder();
    await expect(packRun(folder, { cwd, internal: true })).rejects.toThrow(
      'internal files of this run are not in its folder',
    );
    expect((await packRun(folder, { cwd })).leftOut).toBe(2);
  });

  test('stores case ids of 100 characters, whose assets have long paths', async () => {
    const id = 'c'.repeat(100);
    const folder = await suiteFolder(temporaryFolder(), { cases: [{ id }, { id: 'pack' }] });
    const file = await packOf(folder);
    expect((await verdictsOf(file)).at(-1)).toMatchObject({ outcome: 'valid' });
    expect(textIn(file, `folder/${id}.json`)).toContain(id);
    expect(textIn(file, 'folder/pack.json')).toContain('case.v1');
  });
});

describe('unpacking', () => {
  test('restores a folder that verifies like the original, and reports missing internal files', async () => {
    const folder = await scriptFolder();
    const cwd = temporaryFolder();
    const { file } = await packRun(folder, { cwd });
    const unpacked = await unpack(file, { cwd, to: 'out' });
    expect(unpacked).toMatchObject({ runId: SCRIPT_RUN, kind: 'script', leftOut: 2 });
    expect(filesIn(unpacked.folder)).toEqual(filesIn(folder).filter(name => !name.startsWith('evidence/internal/')));
    const [before, after] = [await verdictsOf(folder), await verdictsOf(unpacked.folder)];
    expect(after.at(-1)).toMatchObject({ outcome: 'valid', documents: before.at(-1)?.documents });
    expect(after.at(-1)?.not_checked[0]).toBe('the internal files, which are not included');
    expect(readdirSync(cwd).sort()).toEqual(['out', `${SCRIPT_RUN}.proctor.tar`]);
  });

  test('refuses an existing folder, even an empty one', async () => {
    const cwd = temporaryFolder();
    const { file } = await packRun(await scriptFolder(), { cwd });
    mkdirSync(path.join(cwd, 'out'));
    await expect(unpack(file, { cwd, to: 'out' })).rejects.toThrow('already exists');
    expect(readdirSync(path.join(cwd, 'out'))).toEqual([]);
  });

  test('refuses a pack that does not verify, and writes nothing', async () => {
    const file = await packOf(await scriptFolder());
    const hostile = [
      tampered(file, { 'folder/output/a.txt': 'other' }),
      tampered(file, { 'folder/x': 'x' }),
      fileOf(archive([entry('../x', 'x')])),
      fileOf(Buffer.concat([bytesIn(file), Buffer.alloc(1)])),
      fileOf(Buffer.from('\x1f\x8b')),
    ];
    for (const one of hostile) {
      const cwd = path.join(temporaryFolder(), 'inner');
      mkdirSync(cwd);
      await expect(unpack(one, { cwd })).rejects.toThrow('does not verify');
      expect(readdirSync(path.dirname(cwd), { recursive: true })).toEqual(['inner']);
    }
  });

  test('leaves nothing if it is interrupted, or if the pack does not exist', async () => {
    const cwd = temporaryFolder();
    const file = await packOf(await scriptFolder());
    await expect(unpack(file, { cwd, signal: AbortSignal.abort() })).rejects.toThrow(
      'Interrupted. Nothing was written.',
    );
    await expect(unpack('missing.tar', { cwd })).rejects.toThrow('Cannot read the pack.');
    expect(readdirSync(cwd)).toEqual([]);
  });
});

test('detects any changed byte of a pack', async () => {
  const file = await packOf(await scriptFolder({ 'output/a.txt': 'aaa', 'output/ä': '' }));
  const bytes = bytesIn(file);
  const fd = openSync(file, 'r+');
  try {
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (at, mask) => {
        writeSync(fd, Buffer.of((bytes[at] as number) ^ mask), 0, 1, at);
        const outcomes = (await verdictsOf(file)).map(({ outcome }) => outcome);
        writeSync(fd, bytes, at, 1, at);
        expect(outcomes.at(-1)).not.toBe('valid');
      }),
      { numRuns: 300 },
    );
  } finally {
    closeSync(fd);
  }
  expect((await verdictsOf(file)).at(-1)?.outcome).toBe('valid');
});

test('a pack that changes after verification leaves nothing', async () => {
  const cwd = temporaryFolder();
  const file = await packOf(await scriptFolder());
  const pack = packFile(openSync(file, 'r+'));
  try {
    const { digests } = digestsIn(pack);
    writeSync(pack.fd, 'b', pack.entries.get('folder/output/a.txt')?.at);
    await expect(writeFolder(pack, path.join(cwd, 'out'), digests)).rejects.toThrow('was changed');
    expect(readdirSync(cwd)).toEqual([]);
  } finally {
    pack.close();
  }
});

test('a pack that is replaced after verification leaves nothing', async () => {
  const cwd = temporaryFolder();
  const [file, other] = await Promise.all(
    ['aaa', 'bbb'].map(async text => packOf(await scriptFolder({ 'output/a.txt': text }))),
  );
  if (file === undefined || other === undefined) throw new Error('There are two packs.');
  expect(statSync(other).size).toBe(statSync(file).size);
  let left = (await verdictsOf(file)).length;
  // Called after every verdict, including the last one.
  const signal = {
    get aborted() {
      if (--left === 0) writeFileSync(file, readFileSync(other));
      return false;
    },
  } as AbortSignal;
  await expect(unpack(file, { cwd, signal })).rejects.toThrow('was changed');
  expect(readdirSync(cwd)).toEqual([]);
});

test('a renamed run keeps the name in its seal', async () => {
  const folder = await scriptFolder();
  const other = path.join(path.dirname(folder), 'mine');
  renameSync(folder, other);
  const cwd = temporaryFolder();
  expect(path.basename((await packRun(other, { cwd })).file)).toBe(`${SCRIPT_RUN}.proctor.tar`);
});

test('a pack that cannot be read is closed', () => {
  const fd = openSync(temporaryFolder(), 'r');
  expect(() => packFile(fd)).toThrow('EISDIR');
  expect(() => fstatSync(fd)).toThrow('EBADF');
});

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { contentHash } from '../../../src/base/hash.ts';
import { namedStateFolder, useStateFolder } from '../../../src/base/state-folder.ts';
import { layPrepared, type PreparedFile, readPrepared, writePrepared } from '../../../src/execute/worktree/prepared.ts';
import type { TreeEntry } from '../../../src/execute/worktree/tree.ts';
import { SetupCache } from '../../../src/run/setup/cache.ts';
import { temporaryFolder } from '../../support/support.ts';

const before = namedStateFolder();
let state = '';
beforeEach(() => {
  state = path.join(temporaryFolder(), 'state');
  mkdirSync(state, { mode: 0o700 });
  useStateFolder(state);
});
afterAll(() => {
  if (before !== undefined) useStateFolder(before);
});

const DAY_MS = 24 * 3_600_000;
const LIMITS = { bytes: 10_000, entries: 2, ageMs: 7 * DAY_MS };
const FACTS = { durationMs: 5, leftOut: 0 };

const entry = (at: string, bytes: number, more: Partial<TreeEntry> = {}): TreeEntry => ({
  path: at,
  kind: 'file',
  bytes,
  isExecutable: false,
  ...more,
});

/** Writes a prepared tree with a script and a link to it. */
async function prepared(file: string, text = 'true\n'): Promise<PreparedFile> {
  const top = temporaryFolder();
  mkdirSync(path.join(top, 'node_modules'));
  writeFileSync(path.join(top, 'node_modules/run.sh'), text);
  symlinkSync('run.sh', path.join(top, 'node_modules/link'));
  const ignored = [
    entry('node_modules/link', 6, { kind: 'link' }),
    entry('node_modules/run.sh', text.length, { isExecutable: true }),
  ];
  return writePrepared(file, top, { put: [], deleted: ['old.txt'], ignored }, FACTS);
}

describe('a prepared tree', () => {
  test('is the same when it is read back, and replaces a link in its way', async () => {
    const file = path.join(temporaryFolder(), 'x');
    const written = await prepared(file);
    const read = readPrepared(file);
    expect(read).toEqual(written);
    const top = temporaryFolder();
    const outside = temporaryFolder();
    symlinkSync(outside, path.join(top, 'node_modules'));
    await layPrepared(read as PreparedFile, top);
    expect(readFileSync(path.join(top, 'node_modules/run.sh'), 'utf8')).toBe('true\n');
    expect(lstatSync(path.join(top, 'node_modules/run.sh')).mode & 0o777).toBe(0o755);
    expect(readlinkSync(path.join(top, 'node_modules/link'))).toBe('run.sh');
    expect(existsSync(path.join(outside, 'run.sh'))).toBe(false);
  });

  test('is refused if one byte differs, it is cut off, or it names a path outside the tree or in .git', async () => {
    const file = path.join(temporaryFolder(), 'x');
    await prepared(file);
    const bytes = readFileSync(file);
    for (const at of [0, 40, bytes.length - 70, bytes.length - 1]) {
      const other = Buffer.from(bytes);
      other.writeUInt8(other.readUInt8(at) ^ 1, at);
      writeFileSync(file, other);
      expect(readPrepared(file), String(at)).toBeUndefined();
    }
    writeFileSync(file, bytes.subarray(0, -1));
    expect(readPrepared(file)).toBeUndefined();
    const top = temporaryFolder();
    writeFileSync(path.join(top, 'a'), '');
    for (const bad of ['../a', '/a', '.git/config', 'sub/.GIT/hooks/x', 'a//b', '']) {
      const deleted = [bad];
      const odd = path.join(temporaryFolder(), 'odd');
      await writePrepared(odd, top, { put: [], deleted, ignored: [] }, FACTS);
      expect(readPrepared(odd), bad).toBeUndefined();
    }
  });
});

describe('the cache of setups', () => {
  const key = (word: string) => contentHash(word);

  test('returns an entry until it is too old or damaged, and then removes it', async () => {
    const cache = new SetupCache(LIMITS);
    expect(cache.get(key('a'), Date.now())).toBeUndefined();
    const kept = cache.keep(await prepared(cache.temporary()), key('a'), Date.now());
    expect(cache.get(key('a'), Date.now())).toEqual(kept);
    expect(lstatSync(kept.file).mode & 0o077).toBe(0);
    expect(cache.get(key('b'), Date.now())).toBeUndefined();
    expect(cache.get(key('a'), Date.now() + 8 * DAY_MS)).toBeUndefined();
    expect(existsSync(kept.file)).toBe(false);
    const again = cache.keep(await prepared(cache.temporary()), key('a'), Date.now());
    writeFileSync(again.file, 'damaged');
    expect(cache.get(key('a'), Date.now())).toBeUndefined();
    expect(existsSync(again.file)).toBe(false);
  });

  test('removes entries beyond its limits and files of dead or stuck writers, but keeps the newest entry', async () => {
    const cache = new SetupCache(LIMITS);
    const files: string[] = [];
    const torn = cache.temporary();
    writeFileSync(torn, '');
    // No process can have this pid.
    const dead = torn.replace(`.${process.pid}.`, '.4194305.');
    writeFileSync(dead, '');
    for (const word of ['a', 'b', 'c'])
      files.push(cache.keep(await prepared(cache.temporary()), key(word), Date.now()).file);
    expect(files.filter(file => existsSync(file))).toHaveLength(2);
    expect(existsSync(files[2] as string)).toBe(true);
    expect([existsSync(torn), existsSync(dead)]).toEqual([true, false]);
    const large = await prepared(cache.temporary(), 'x'.repeat(20_000));
    const newest = cache.keep(large, key('d'), Date.now() + 2 * 3_600_000).file;
    expect(existsSync(newest)).toBe(true);
    expect(files.some(file => existsSync(file))).toBe(false);
    expect(existsSync(torn)).toBe(false);
  });

  test('refuses a state folder that is open to others', () => {
    chmodSync(state, 0o777);
    expect(() => new SetupCache()).toThrow(/state folder/);
  });
});

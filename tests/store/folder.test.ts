import { readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import type * as promises from 'node:fs/promises';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { bytesHash, type ContentHash } from '../../src/base/hash.ts';
import { FolderStore } from '../../src/store/folder.ts';
import { storeConformance } from '../conformance/store.ts';
import { temporaryFolder } from '../support/support.ts';

storeConformance('folder', async () => {
  const folder = temporaryFolder();
  let nowMs = Date.now();
  const store = new FolderStore(folder, { now: () => nowMs });
  return {
    store,
    age: ms => void (nowMs += ms),
    damage: digest => {
      const bytes = readFileSync(fileIn(folder, digest));
      bytes[0] = (bytes[0] ?? 0) ^ 1;
      writeFileSync(fileIn(folder, digest), bytes);
    },
  };
});

test('a folder keeps no temporary file of a refused blob', async () => {
  const folder = temporaryFolder();
  const digest = bytesHash('a');
  await expect(new FolderStore(folder).put(digest, once('b'), 10)).rejects.toThrow();
  expect(readdirSync(path.dirname(fileIn(folder, digest)))).toEqual([]);
});

test('a folder sweeps the temporary files of crashed writers', async () => {
  const folder = temporaryFolder();
  const digest = bytesHash('a');
  await new FolderStore(folder).put(digest, once('a'), 10);
  const file = fileIn(folder, digest);
  writeFileSync(path.join(path.dirname(file), `.${path.basename(file)}.0123456789ab.tmp`), 'half');
  const later = new FolderStore(folder, { now: () => Date.now() + 10_000 });
  expect(await later.sweep(5000, new Set())).toBe(2);
  expect(readdirSync(path.dirname(file))).toEqual([]);
});

const looked = vi.hoisted(() => ({ after: async (): Promise<void> => undefined }));
vi.mock('node:fs/promises', async original => {
  const real = await original<typeof promises>();
  return {
    ...real,
    lstat: async (file: string) => {
      const found = await real.lstat(file);
      await looked.after();
      return found;
    },
  };
});

test('a folder keeps a blob that is put again while it is swept', async () => {
  const folder = temporaryFolder();
  const digest = bytesHash('a');
  const store = new FolderStore(folder);
  await store.put(digest, once('a'), 10);
  utimesSync(fileIn(folder, digest), 0, 0);
  onTestFinished(() => void (looked.after = async () => undefined));
  looked.after = async () => {
    looked.after = async () => undefined;
    await store.put(digest, once('a'), 10);
  };
  expect(await store.sweep(60_000, new Set())).toBe(0);
  expect(await store.missing([digest])).toEqual([]);
  expect(readdirSync(path.dirname(fileIn(folder, digest)))).toHaveLength(1);
});

test('a folder never follows a link instead of a blob', async () => {
  const folder = temporaryFolder();
  const digest = bytesHash('secret');
  await new FolderStore(folder).put(bytesHash('a'), once('a'), 10);
  writeFileSync(path.join(folder, 'outside'), 'secret');
  await new FolderStore(folder).put(digest, once('secret'), 10);
  const file = fileIn(folder, digest);
  rmSync(file);
  symlinkSync(path.join(folder, 'outside'), file);
  expect(await new FolderStore(folder).missing([digest])).toEqual([digest]);
  await expect(new FolderStore(folder).get(digest)).rejects.toMatchObject({ code: 'store_unavailable' });
});

function fileIn(folder: string, digest: ContentHash): string {
  const name = digest.replace('sha256:', '');
  return path.join(folder, name.slice(0, 2), name);
}

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { bytesHash, type ContentHash } from '../../src/base/hash.ts';
import { FolderStore } from '../../src/store/folder.ts';
import { writeBlob } from '../../src/store/write-blob.ts';
import { temporaryFolder } from '../support/support.ts';

/** The open files of this process that are below a folder. */
function openIn(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      const file = readlinkSync(`/proc/self/fd/${fd}`);
      return file.startsWith(folder) ? [file] : [];
    } catch {
      return [];
    }
  });
}

async function storeWith(bytes: Buffer): Promise<{ folder: string; store: FolderStore; digest: ContentHash }> {
  const folder = temporaryFolder();
  const store = new FolderStore(folder);
  const digest = bytesHash(bytes);
  async function* once() {
    yield bytes;
  }
  await store.put(digest, once(), bytes.length);
  return { folder, store, digest };
}

const isLinux = process.platform === 'linux';

test.runIf(isLinux)('leaves no file open if the file to write exists, or if the blob is too long', async () => {
  const bytes = Buffer.alloc(1024 ** 2, 'a');
  const { folder, store, digest } = await storeWith(bytes);
  const target = temporaryFolder();
  const there = path.join(target, 'there');
  writeFileSync(there, 'mine');
  await expect(writeBlob(store, digest, bytes.length, there)).rejects.toMatchObject({ code: 'EEXIST' });
  expect(openIn(folder)).toEqual([]);
  await expect(writeBlob(store, digest, 10, path.join(target, 'short'))).rejects.toMatchObject({
    code: 'blob_mismatch',
  });
  await expect.poll(() => [...openIn(folder), ...openIn(target)]).toEqual([]);
});

test.runIf(isLinux)('leaves no file open for a reader that reads nothing', async () => {
  const { folder, store, digest } = await storeWith(Buffer.from('a'));
  expect(await store.get(digest)).toBeDefined();
  expect(openIn(folder)).toEqual([]);
});

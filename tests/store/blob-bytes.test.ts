import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { bytesHash } from '../../src/base/hash.ts';
import { blobBytes } from '../../src/store/blob-bytes.ts';
import { FolderStore } from '../../src/store/folder.ts';
import { temporaryFolder } from '../support/support.ts';

const bytes = Buffer.from('twelve bytes');
const digest = bytesHash(bytes);

test('reads a blob of at most the limit', async () => {
  const { store } = await storeWithBlob();
  expect(await blobBytes(store, digest, 12)).toEqual(bytes);
  expect(await blobBytes(store, digest, 11)).toBe('too large');
});

test('reports a blob that is not there, and a store that is not there', async () => {
  const { store } = await storeWithBlob();
  expect(await blobBytes(store, bytesHash('other'), 12)).toBe('missing');
  expect(await blobBytes(undefined, digest, 12)).toBe('missing');
});

test('rejects a blob whose bytes have changed', async () => {
  const { store, file } = await storeWithBlob();
  writeFileSync(file, 'Twelve bytes');
  await expect(blobBytes(store, digest, 12)).rejects.toMatchObject({ code: 'blob_mismatch' });
});

async function storeWithBlob() {
  const folder = temporaryFolder();
  const store = new FolderStore(folder);
  await store.put(digest, Readable.from([bytes]), bytes.length);
  const name = digest.replace('sha256:', '');
  return { store, file: path.join(folder, name.slice(0, 2), name) };
}

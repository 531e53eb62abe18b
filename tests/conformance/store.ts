/** What every blob store does. Each implementation calls this with a way to make an empty store. */
import { describe, expect, test } from 'vitest';
import { bytesHash, type ContentHash } from '../../src/base/hash.ts';
import type { BlobStore } from '../../src/store/store.ts';

export interface StoreUnderTest {
  readonly store: BlobStore;
  /** Makes the store believe that this much time has passed since the last `put`. */
  readonly age: (ms: number) => void;
  /** Changes one byte of a stored blob, as a broken disk does. */
  readonly damage: (digest: ContentHash) => void;
}

const MB = 1_048_576;
const DAY_MS = 86_400_000;

export function storeConformance(name: string, make: () => Promise<StoreUnderTest>): void {
  describe(`a store: ${name}`, () => {
    test('returns the bytes that were put, in the same order', async () => {
      const { store } = await make();
      const bytes = Buffer.concat([Buffer.alloc(3 * MB, 'proctor '), Buffer.from([0, 255, 10])]);
      await store.put(bytesHash(bytes), inPieces(bytes, 100_003), 4 * MB);
      expect(bytesHash(await read(store, bytesHash(bytes)))).toBe(bytesHash(bytes));
    });

    test('accepts an empty blob', async () => {
      const { store } = await make();
      const digest = bytesHash('');
      await store.put(digest, inPieces(Buffer.alloc(0), 1), 10);
      expect(await read(store, digest)).toEqual(Buffer.alloc(0));
      expect(await store.missing([digest])).toEqual([]);
    });

    test('has no blob that was never put', async () => {
      const { store } = await make();
      expect(await store.get(bytesHash('never'))).toBeUndefined();
      expect(await store.missing([bytesHash('never')])).toEqual([bytesHash('never')]);
    });

    test('refuses bytes with another digest, and keeps nothing of them', async () => {
      const { store } = await make();
      const digest = bytesHash('a');
      await expect(store.put(digest, inPieces(Buffer.from('b'), 1), 10)).rejects.toMatchObject({
        code: 'blob_mismatch',
      });
      expect(await store.missing([digest])).toEqual([digest]);
    });

    test('refuses a blob that is larger than its limit, and keeps nothing of it', async () => {
      const { store } = await make();
      const bytes = Buffer.alloc(11);
      const put = store.put(bytesHash(bytes), inPieces(bytes, 4), 10);
      await expect(put).rejects.toMatchObject({ code: 'blob_mismatch' });
      expect(await store.missing([bytesHash(bytes)])).toEqual([bytesHash(bytes)]);
    });

    test('keeps nothing of a blob whose source breaks off', async () => {
      const { store } = await make();
      const source = async function* () {
        yield Buffer.from('half');
        throw new Error('The network is gone.');
      };
      await expect(store.put(bytesHash('half a blob'), source(), 100)).rejects.toThrow();
      expect(await store.missing([bytesHash('half a blob')])).toEqual([bytesHash('half a blob')]);
    });

    test('accepts the same blob again, even twice at once', async () => {
      const { store } = await make();
      const bytes = Buffer.alloc(MB, 7);
      const put = () => store.put(bytesHash(bytes), inPieces(bytes, 65_536), MB);
      await Promise.all([put(), put(), put()]);
      await put();
      expect(bytesHash(await read(store, bytesHash(bytes)))).toBe(bytesHash(bytes));
    });

    test('reports damage to the reader', async () => {
      const { store, damage } = await make();
      const digest = bytesHash('precious');
      await store.put(digest, inPieces(Buffer.from('precious'), 8), 8);
      damage(digest);
      await expect(read(store, digest)).rejects.toMatchObject({ code: 'blob_mismatch' });
      // Putting it again repairs it.
      await store.put(digest, inPieces(Buffer.from('precious'), 8), 8);
      expect((await read(store, digest)).toString()).toBe('precious');
    });

    test('refuses names that are not digests', async () => {
      const { store } = await make();
      for (const name of ['sha256:../../../etc/passwd', 'sha256:', `sha256:${'A'.repeat(64)}`, 'x']) {
        await expect(store.get(name as ContentHash), name).rejects.toMatchObject({ code: 'blob_name' });
        await expect(store.missing([name as ContentHash]), name).rejects.toMatchObject({ code: 'blob_name' });
      }
    });

    test('sweeps blobs by age, except those to keep', async () => {
      const { store, age } = await make();
      const [old, kept, young] = [bytesHash('old'), bytesHash('kept'), bytesHash('young')];
      await store.put(old, inPieces(Buffer.from('old'), 3), 3);
      await store.put(kept, inPieces(Buffer.from('kept'), 4), 4);
      expect(await store.sweep(7 * DAY_MS, new Set())).toBe(0);
      age(8 * DAY_MS);
      await store.put(young, inPieces(Buffer.from('young'), 5), 5);
      expect(await store.sweep(9 * DAY_MS, new Set())).toBe(0);
      expect(await store.sweep(7 * DAY_MS, new Set([kept, young]))).toBe(1);
      expect(await store.missing([old, kept, young])).toEqual([old]);
    });
  });
}

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(store: BlobStore, digest: ContentHash): Promise<Buffer> {
  const pieces = await store.get(digest);
  if (!pieces) throw new Error('The blob is missing.');
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

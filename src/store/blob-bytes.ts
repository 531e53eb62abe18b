import type { ContentHash } from '../base/hash.ts';
import type { BlobStore } from './store.ts';

/** Reads a blob into memory, at most `bytesMax` of it. Rejects with `blob_mismatch` if its bytes have changed. */
export async function blobBytes(
  store: BlobStore | undefined,
  digest: ContentHash,
  bytesMax: number,
): Promise<Buffer | 'missing' | 'too large'> {
  const pieces = await store?.get(digest);
  if (!pieces) return 'missing';
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > bytesMax) return 'too large';
    read.push(piece);
  }
  return Buffer.concat(read);
}

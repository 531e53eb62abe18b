import { closeSync, openSync, writeSync } from 'node:fs';
import { Fault } from '../base/fault.ts';
import type { ContentHash } from '../base/hash.ts';
import { OWN_FILE } from '../base/private.ts';
import type { BlobStore } from './store.ts';

/** Writes a blob of exactly `bytes` bytes to a new file. False if the store does not have it. */
export async function writeBlob(store: BlobStore, digest: ContentHash, bytes: number, file: string): Promise<boolean> {
  const pieces = await store.get(digest);
  if (!pieces) return false;
  const fd = openSync(file, 'wx', OWN_FILE);
  let length = 0;
  try {
    for await (const piece of pieces) {
      length += piece.length;
      if (length > bytes) break;
      for (let from = 0; from < piece.length; ) from += writeSync(fd, piece, from);
    }
  } finally {
    closeSync(fd);
  }
  if (length !== bytes) throw new Fault('blob_mismatch', 'The store has other bytes than the request names.');
  return true;
}

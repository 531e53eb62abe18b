import { createHash } from 'node:crypto';
import { closeSync } from 'node:fs';
import { readChunk } from './chunk.ts';
import type { ContentHash } from './hash.ts';
import { openRegular } from './regular.ts';

/** The hash of a regular file of any size, in flat memory; undefined if it is missing, a link, or cannot be read. */
export function fileHash(file: string): ContentHash | undefined {
  const fd = openRegular(file);
  if (fd === undefined) return undefined;
  try {
    return openHash(fd);
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}

/** The hash of what is left to read of an open file. */
export function openHash(fd: number): ContentHash {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let length = readChunk(fd, chunk); length > 0; length = readChunk(fd, chunk)) {
    hash.update(chunk.subarray(0, length));
  }
  return `sha256:${hash.digest('hex')}`;
}

const CHUNK_BYTES = 64 * 1024;

import { createHash } from 'node:crypto';
import { closeSync, fstatSync } from 'node:fs';
import { readChunk } from './chunk.ts';
import type { ContentHash } from './hash.ts';
import { openRegular } from './regular.ts';

/** The hash of a regular file, in constant memory; undefined if it is missing, too large, a link, or unreadable. */
export function fileHash(file: string, bytesMax = Number.POSITIVE_INFINITY): ContentHash | undefined {
  const fd = openRegular(file);
  if (fd === undefined) return undefined;
  try {
    return fstatSync(fd).size > bytesMax ? undefined : openHash(fd);
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}

/** The hash of the rest of an open file. */
export function openHash(fd: number): ContentHash {
  const hash = createHash('sha256');
  for (let length = readChunk(fd, CHUNK); length > 0; length = readChunk(fd, CHUNK)) {
    hash.update(CHUNK.subarray(0, length));
  }
  return `sha256:${hash.digest('hex')}`;
}

/** Shared, because hashing is synchronous and a buffer per small file would cost more than the file. */
const CHUNK = Buffer.allocUnsafe(64 * 1024);

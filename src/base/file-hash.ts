import { createHash } from 'node:crypto';
import { closeSync, fstatSync, read as readAsync } from 'node:fs';
import { promisify } from 'node:util';
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

/** Like `fileHash`, but other work in this process gets its turn. */
export async function fileHashInTurns(file: string): Promise<ContentHash | undefined> {
  const fd = openRegular(file);
  if (fd === undefined) return undefined;
  try {
    return await hashInTurns(fd);
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}

/** The hash of a whole open file of any size, read in pieces, so that other work in this process gets its turn. */
export async function hashInTurns(fd: number): Promise<ContentHash> {
  const hash = createHash('sha256');
  const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, fstatSync(fd).size + 1));
  for (let at = 0; ; ) {
    const { bytesRead } = await read(fd, piece, 0, piece.length, at);
    if (bytesRead === 0) return `sha256:${hash.digest('hex')}`;
    hash.update(piece.subarray(0, bytesRead));
    at += bytesRead;
  }
}

const read = promisify(readAsync);
const PIECE_BYTES = 1024 ** 2;

/** Shared, because hashing is synchronous and a buffer per small file would cost more than the file. */
const CHUNK = Buffer.allocUnsafe(64 * 1024);

import { createHash } from 'node:crypto';
import { closeSync, fstatSync, mkdirSync, openSync, read, readSync, write, writeSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { bytesHash, type ContentHash } from '../../base/hash.ts';
import { OWN_FILE, OWN_FOLDER } from '../../base/private.ts';
import { below, FILE_FLAGS, FOLDER_FLAGS, isSame } from './held.ts';
import type { Breach } from './reason.ts';
import { type Folder, type FoundFile, odd, breachFor } from './tree.ts';
import { Unsynced } from './unsynced.ts';

export interface StoredFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: ContentHash;
}

/**
 * Copies a checked folder and hashes the files. Copies names and bytes only: no modes, owners or times. When it
 * returns, every byte is on disk. A breach means that a file changed after it was checked.
 */
export async function storeTree(
  folder: Folder,
  parent: number,
  target: string,
  signal: AbortSignal,
): Promise<StoredFile[] | Breach> {
  const unsynced = new Unsynced();
  try {
    const stored = await storeFolder(folder, parent, target, {
      unsynced,
      signal,
      buffer: Buffer.allocUnsafe(SMALL + 1),
    });
    if ('ok' in stored) return stored;
    await unsynced.settle();
    return stored;
  } finally {
    await unsynced.close();
  }
}

interface Copying {
  readonly unsynced: Unsynced;
  readonly signal: AbortSignal;
  /** Shared by small files, which are copied one at a time. */
  readonly buffer: Buffer;
}

async function storeFolder(
  folder: Folder,
  parent: number,
  target: string,
  copying: Copying,
): Promise<StoredFile[] | Breach> {
  copying.signal.throwIfAborted();
  let fd: number;
  try {
    fd = openSync(below(parent, folder.name), FOLDER_FLAGS);
  } catch (error) {
    return breachFor(error, folder.path);
  }
  try {
    const { ino, dev } = fstatSync(fd);
    if (ino !== folder.stat.ino || dev !== folder.stat.dev) return odd(folder.path, 'was replaced with another folder');
    mkdirSync(target, { mode: OWN_FOLDER });
    const stored: StoredFile[] = [];
    for (const file of folder.files) {
      const sha256 = await storeFile(file, fd, path.join(target, file.name), copying);
      if (typeof sha256 !== 'string') return sha256;
      stored.push({ path: file.path, bytes: file.stat.size, sha256 });
    }
    for (const child of folder.folders) {
      if (!holdsFiles(child)) continue;
      const inner = await storeFolder(child, fd, path.join(target, child.name), copying);
      if ('ok' in inner) return inner;
      for (const file of inner) stored.push(file);
    }
    await copying.unsynced.add(openSync(target, 'r'));
    return stored;
  } finally {
    closeSync(fd);
  }
}

/** Empty folders are dropped, because no list of files mentions them. */
export function holdsFiles({ files, folders }: Folder): boolean {
  return files.length > 0 || folders.some(holdsFiles);
}

/**
 * Small files are copied synchronously: three times as fast as with promises, and quicker than one turn of the event
 * loop. Syncing in batches lets other work run.
 */
async function storeFile(
  file: FoundFile,
  parent: number,
  target: string,
  { unsynced, signal, buffer }: Copying,
): Promise<ContentHash | Breach> {
  signal.throwIfAborted();
  let from: number;
  try {
    from = openSync(below(parent, file.name), FILE_FLAGS);
  } catch (error) {
    return breachFor(error, file.path);
  }
  try {
    if (!isSame(file.stat, fstatSync(from))) return changed(file);
    const { size } = file.stat;
    if (size <= SMALL) {
      const bytes = buffer.subarray(0, readInto(buffer.subarray(0, size + 1), from));
      if (bytes.length !== size || !isSame(file.stat, fstatSync(from))) return changed(file);
      await unsynced.add(await filled(target, to => writeWhole(to, bytes)));
      return bytesHash(bytes);
    }
    let sha256: ContentHash | undefined;
    await unsynced.add(
      await filled(target, async to => {
        sha256 = await pour(from, to, size, signal);
      }),
    );
    return sha256 !== undefined && isSame(file.stat, fstatSync(from)) ? sha256 : changed(file);
  } finally {
    closeSync(from);
  }
}

/** Creates a file, fills it and returns the descriptor, so that the caller can sync it. */
async function filled(target: string, fill: (fd: number) => void | Promise<void>): Promise<number> {
  const fd = openSync(target, 'wx', OWN_FILE);
  try {
    await fill(fd);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function writeWhole(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

function readInto(buffer: Buffer, fd: number): number {
  let total = 0;
  for (let length = -1; length !== 0 && total < buffer.length; total += length) {
    length = readSync(fd, buffer, total, buffer.length - total, null);
  }
  return total;
}

/** Reads one chunk while it hashes and writes the other. Returns undefined if the size is not as expected. */
async function pour(from: number, to: number, size: number, signal: AbortSignal): Promise<ContentHash | undefined> {
  const hash = createHash('sha256');
  let chunk = Buffer.allocUnsafe(CHUNK);
  let spare = Buffer.allocUnsafe(CHUNK);
  let { bytesRead } = await readSome(from, chunk, 0, CHUNK, null);
  let total = bytesRead;
  while (bytesRead > 0 && total <= size) {
    signal.throwIfAborted();
    const next = readSome(from, spare, 0, CHUNK, null);
    const written = writeAll(to, chunk.subarray(0, bytesRead));
    hash.update(chunk.subarray(0, bytesRead));
    // Wait for both before throwing, because the caller then closes the descriptors.
    const [arrived, stored] = await Promise.allSettled([next, written]);
    if (arrived.status === 'rejected') throw arrived.reason;
    if (stored.status === 'rejected') throw stored.reason;
    bytesRead = arrived.value.bytesRead;
    total += bytesRead;
    [chunk, spare] = [spare, chunk];
  }
  return total === size ? `sha256:${hash.digest('hex')}` : undefined;
}

async function writeAll(fd: number, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await writeSome(fd, bytes, at, bytes.length - at, null)).bytesWritten;
}

function changed(file: FoundFile): Breach {
  return odd(file.path, 'changed while it was read');
}

const readSome = promisify(read);
const writeSome = promisify(write);

/** Files up to this size are read whole. */
const SMALL = 256 * 1024;
const CHUNK = 1024 * 1024;

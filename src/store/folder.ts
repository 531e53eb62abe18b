import { closeSync, createReadStream } from 'node:fs';
import { lstat, open, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { syncFolder, temporaryBeside, tornFile } from '../base/atomic.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { codeOf, Fault, fullDisk } from '../base/fault.ts';
import type { ContentHash } from '../base/hash.ts';
import { makeFolders, OWN_FILE } from '../base/private.ts';
import { openRegular } from '../base/regular.ts';
import type { BlobStore } from './store.ts';
import { storedName, storedDigest, verified } from './verified.ts';

/** Blobs in a folder: the disk of this machine, or a shared file system. */
export class FolderStore implements BlobStore {
  readonly #folder: string;
  readonly #clock: Clock;

  constructor(folder: string, clock: Clock = systemClock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  async put(digest: ContentHash, bytes: AsyncIterable<Uint8Array>, bytesMax: number): Promise<void> {
    const file = this.#fileOf(digest);
    const temporary = temporaryBeside(file);
    try {
      makeFolders(path.dirname(file));
      await writeSynced(temporary, verified(digest, bytes, bytesMax));
      await rename(temporary, file);
      syncFolder(path.dirname(file));
    } catch (cause) {
      await rm(temporary, { force: true });
      throw unavailable('written', cause);
    }
  }

  async get(digest: ContentHash): Promise<AsyncIterable<Uint8Array> | undefined> {
    const file = this.#fileOf(digest);
    if (isRegular(file)) return verified(digest, piecesOf(file));
    const there = await stat(file).catch((error: unknown) => codeOf(error));
    if (there === 'ENOENT' || there === 'ENOTDIR') return undefined;
    throw unavailable('read', undefined);
  }

  async missing(digests: readonly ContentHash[]): Promise<readonly ContentHash[]> {
    return digests.filter(digest => !isRegular(this.#fileOf(digest)));
  }

  async sweep(ageMs: number, keep: ReadonlySet<ContentHash>): Promise<number> {
    const beforeMs = this.#clock.now() - ageMs;
    let removed = 0;
    for (const shelf of await namesIn(this.#folder)) {
      if (!/^[0-9a-f]{2}$/.test(shelf)) continue;
      for (const name of await namesIn(path.join(this.#folder, shelf))) {
        const digest = storedDigest(tornFile(name) ?? name);
        if (!digest || keep.has(digest)) continue;
        if (await removeOld(path.join(this.#folder, shelf, name), this.#fileOf(digest), beforeMs)) removed += 1;
      }
    }
    return removed;
  }

  /** In 256 folders, because some file systems are slow with large ones. */
  #fileOf(digest: ContentHash): string {
    const name = storedName(digest);
    return path.join(this.#folder, name.slice(0, 2), name);
  }
}

async function writeSynced(file: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const handle = await open(file, 'wx', OWN_FILE);
  try {
    for await (const piece of bytes) await handle.writeFile(piece);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

function isRegular(file: string): boolean {
  const fd = openRegular(file);
  if (fd !== undefined) closeSync(fd);
  return fd !== undefined;
}

/** Opens the file at the first step, because a reader that fails before it cannot close anything. */
async function* piecesOf(file: string): AsyncGenerator<Uint8Array> {
  const fd = openRegular(file);
  if (fd === undefined) throw unavailable('read', undefined);
  try {
    for await (const piece of createReadStream('', { fd })) yield piece as Buffer;
  } catch (cause) {
    throw unavailable('read', cause);
  }
}

/** Moves a file aside before it removes it, because a blob can be put again after its age was checked. */
async function removeOld(file: string, blob: string, beforeMs: number): Promise<boolean> {
  if (!(await isOlder(file, beforeMs))) return false;
  const aside = temporaryBeside(blob);
  try {
    await rename(file, aside);
    const isOld = await isOlder(aside, beforeMs);
    await (isOld ? rm(aside, { force: true }) : rename(aside, file));
    return isOld;
  } catch (cause) {
    // Another sweep was faster.
    if (codeOf(cause) === 'ENOENT') return false;
    throw unavailable('removed', cause);
  }
}

async function isOlder(file: string, thanMs: number): Promise<boolean> {
  const found = await lstat(file).catch(() => undefined);
  return found !== undefined && found.mtimeMs < thanMs;
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return [];
    throw unavailable('listed', cause);
  }
}

function unavailable(done: string, cause: unknown): Fault {
  if (cause instanceof Fault) return cause;
  return new Fault('store_unavailable', `The blob could not be ${done} in the store's folder${fullDisk(cause)}.`, {
    cause,
  });
}

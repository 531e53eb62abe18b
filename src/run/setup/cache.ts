import { lstatSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { syncFolder } from '../../base/atomic.ts';
import { Fault } from '../../base/fault.ts';
import type { ContentHash } from '../../base/hash.ts';
import { newToken } from '../../base/ids.ts';
import { ownFolder } from '../../base/own-folder.ts';
import { isDead, NAME, ownName } from '../../execute/host/processes.ts';
import { type PreparedFile, readPrepared } from '../../execute/worktree/prepared.ts';

const CACHE_LIMITS = { bytes: 4 * 1024 ** 3, entries: 50, ageMs: 7 * 24 * 3_600_000 } as const;

/** Results of setup commands, in this user's state folder. Every entry is read back and checked before it is used. */
export class SetupCache {
  readonly #folder: string;
  readonly #limits: { readonly bytes: number; readonly entries: number; readonly ageMs: number };

  constructor(limits: { readonly bytes: number; readonly entries: number; readonly ageMs: number } = CACHE_LIMITS) {
    this.#folder = ownFolder('setup-cache');
    this.#limits = limits;
  }

  /** The result for a key; undefined if there is none. A damaged or old one is removed. */
  get(key: ContentHash, nowMs: number): PreparedFile | undefined {
    const file = this.#file(key);
    const stat = lstatSync(file, { throwIfNoEntry: false });
    if (!stat) return undefined;
    const found = nowMs - stat.mtimeMs > this.#limits.ageMs ? undefined : readPrepared(file);
    if (!found) rmSync(file, { recursive: true, force: true });
    return found;
  }

  /** A name for a result that is still being written. It names this process, so that others know if the writer died. */
  temporary(): string {
    return path.join(this.#folder, `${ownName()}-${newToken()}${UNFINISHED}`);
  }

  /** Keeps a complete result under a key, and removes the oldest ones beyond the limits. */
  keep(written: PreparedFile, key: ContentHash, nowMs: number): PreparedFile {
    const file = this.#file(key);
    try {
      renameSync(written.file, file);
      syncFolder(this.#folder);
    } catch (cause) {
      throw new Fault('setup_failed', 'Proctor could not store the result of the setup command.', { cause });
    }
    this.#prune(file, nowMs);
    return { ...written, file };
  }

  #file(key: ContentHash): string {
    return path.join(this.#folder, key.slice('sha256:'.length));
  }

  #prune(newest: string, nowMs: number): void {
    const files = readdirSync(this.#folder).flatMap(name => {
      const file = path.join(this.#folder, name);
      const stat = lstatSync(file, { throwIfNoEntry: false });
      return stat ? [{ file, bytes: stat.size, atMs: stat.mtimeMs }] : [];
    });
    files.sort((a, b) => b.atMs - a.atMs);
    let [bytes, entries] = [0, 0];
    for (const each of files) {
      bytes += each.bytes;
      entries += 1;
      const isOver = bytes > this.#limits.bytes || entries > this.#limits.entries;
      const ageMs = nowMs - each.atMs;
      const writer = WRITER.exec(path.basename(each.file))?.[1];
      const isGone = writer === undefined ? isOver || ageMs > this.#limits.ageMs : isDead(writer) || ageMs > WRITER_MS;
      if (isGone && each.file !== newest) rmSync(each.file, { recursive: true, force: true });
    }
  }
}

const UNFINISHED = '.tmp';
const WRITER = new RegExp(`^(${NAME.source})-.*\\${UNFINISHED}$`);
/** For writers in other containers. A writer that is still alive touches its file far more often than this. */
const WRITER_MS = 3_600_000;

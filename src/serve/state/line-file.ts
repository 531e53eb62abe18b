import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { syncFolder } from '../../base/atomic.ts';
import { Fault, fullDisk } from '../../base/fault.ts';
import { isMineAlone } from '../../base/owner.ts';
import { OWN_FILE } from '../../base/private.ts';

export interface LineFileLimits {
  readonly lineBytesMax: number;
  /** A file that would exceed this size gets a number, and a new file begins. */
  readonly fileBytesMax: number;
  /** Files kept, including the current one. The oldest is removed first. */
  readonly filesMax: number;
}

/**
 * An append-only file of lines: `audit.ndjson`, and the full files `audit.000001.ndjson` and later. Writers take turns
 * with a lock that the caller holds, and call `catchUp` before they append.
 */
export class LineFile {
  readonly #folder: string;
  readonly #name: string;
  readonly #limits: LineFileLimits;
  #fd: number;
  #bytes: number;
  /** Bytes of incomplete last lines that were cut off. */
  #cutBytes = 0;

  constructor(folder: string, name: string, limits: LineFileLimits) {
    this.#folder = folder;
    this.#name = name;
    this.#limits = limits;
    this.#fd = this.#open();
    this.#bytes = this.#cut();
  }

  get cutBytes(): number {
    return this.#cutBytes;
  }

  /** Whether another writer appended lines since the last look. Cuts off a line that it left incomplete. */
  catchUp(): boolean {
    const now = lstatSync(path.join(this.#folder, this.#current()), { throwIfNoEntry: false });
    const mine = fstatSync(this.#fd);
    if (now?.ino === mine.ino && mine.size === this.#bytes) return false;
    if (now?.ino !== mine.ino) {
      const old = this.#fd;
      this.#fd = this.#open();
      closeSync(old);
    }
    this.#bytes = this.#cut();
    return true;
  }

  /** Writes a whole line or nothing. Throws a fault, for example if the disk is full. */
  append(line: string): void {
    const bytes = Buffer.from(`${line}\n`);
    if (bytes.length > this.#limits.lineBytesMax) throw new RangeError('The line is longer than its limit.');
    try {
      if (this.#bytes > 0 && this.#bytes + bytes.length > this.#limits.fileBytesMax) this.#rotate();
      for (let from = 0; from < bytes.length; ) from += writeSync(this.#fd, bytes, from);
      this.#bytes += bytes.length;
    } catch (cause) {
      this.#undo();
      throw new Fault('write_failed', `${this.#current()} could not be written${fullDisk(cause)}.`, { cause });
    }
  }

  /** Makes all lines survive a power cut. */
  sync(): void {
    fdatasyncSync(this.#fd);
  }

  close(): void {
    closeSync(this.#fd);
  }

  /**
   * All lines of all writers, newest first. `isSkipped` sees the first line of each full file and may skip the file.
   */
  *backwards(isSkipped: (firstLine: string) => boolean = () => false): Generator<string> {
    const current = this.#open();
    let inode: number;
    try {
      const { size, ino } = fstatSync(current);
      inode = ino;
      yield* linesBackwards(current, endOfLines(current, size, this.#limits.lineBytesMax), this.#limits.lineBytesMax);
    } finally {
      closeSync(current);
    }
    for (const name of this.#full().reverse()) {
      const fd = openSync(path.join(this.#folder, name), READ);
      try {
        const { size, ino } = fstatSync(fd);
        // Another writer may have given the current file its number meanwhile.
        if (ino === inode) continue;
        const first = firstLine(fd, this.#limits.lineBytesMax);
        if (first !== undefined && isSkipped(first)) continue;
        yield* linesBackwards(fd, endOfLines(fd, size, this.#limits.lineBytesMax), this.#limits.lineBytesMax);
      } finally {
        closeSync(fd);
      }
    }
  }

  #current(): string {
    return `${this.#name}.ndjson`;
  }

  #open(): number {
    const fd = openSync(path.join(this.#folder, this.#current()), APPEND, OWN_FILE);
    const stat = fstatSync(fd);
    if (stat.isFile() && isMineAlone(stat)) return fd;
    closeSync(fd);
    throw new Fault('foreign_state', `${this.#current()} is not a regular file that only you can write.`);
  }

  /** Cuts off an incomplete last line, and returns the size that remains. */
  #cut(): number {
    const { size } = fstatSync(this.#fd);
    const bytes = endOfLines(this.#fd, size, this.#limits.lineBytesMax);
    if (size > bytes) ftruncateSync(this.#fd, bytes);
    this.#cutBytes += size - bytes;
    return bytes;
  }

  #rotate(): void {
    const full = this.#full();
    const next = numberOf(full.at(-1)) + 1;
    fdatasyncSync(this.#fd);
    renameSync(
      path.join(this.#folder, this.#current()),
      path.join(this.#folder, `${this.#name}.${String(next).padStart(6, '0')}.ndjson`),
    );
    const old = this.#fd;
    this.#fd = this.#open();
    closeSync(old);
    this.#bytes = fstatSync(this.#fd).size;
    syncFolder(this.#folder);
    for (const name of full.slice(0, Math.max(0, full.length + 2 - this.#limits.filesMax))) {
      rmSync(path.join(this.#folder, name), { force: true });
    }
  }

  /** A disk that is almost full accepts part of a line before it fails. */
  #undo(): void {
    try {
      ftruncateSync(this.#fd, this.#bytes);
    } catch {
      // The next start cuts the partial line off.
    }
  }

  /** The names of the full files, oldest first. */
  #full(): string[] {
    const pattern = new RegExp(String.raw`^${this.#name}\.\d{6,}\.ndjson$`);
    return readdirSync(this.#folder)
      .filter(name => pattern.test(name))
      .sort((a, b) => numberOf(a) - numberOf(b));
  }
}

function numberOf(name: string | undefined): number {
  return Number(/\.(\d+)\.ndjson$/.exec(name ?? '')?.[1] ?? 0);
}

const NO_LINK = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const READ = constants.O_RDONLY | NO_LINK;
const APPEND = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | NO_LINK;

/** The offset after the last line feed. Proctor never writes a longer line, so a search of one line is enough. */
function endOfLines(fd: number, size: number, lineBytesMax: number): number {
  const from = Math.max(0, size - lineBytesMax);
  const tail = readAt(fd, from, size - from);
  const feed = tail.lastIndexOf(LINE_FEED);
  if (feed < 0 && from > 0) throw new Fault('foreign_state', 'A line file of the server has a line that is too long.');
  return from + feed + 1;
}

function firstLine(fd: number, lineBytesMax: number): string | undefined {
  const head = readAt(fd, 0, lineBytesMax);
  const feed = head.indexOf(LINE_FEED);
  return feed < 0 ? undefined : head.toString('utf8', 0, feed);
}

function* linesBackwards(fd: number, end: number, lineBytesMax: number): Generator<string> {
  let to = end;
  while (to > 0) {
    const from = Math.max(0, to - Math.max(CHUNK_BYTES, 2 * lineBytesMax));
    const bytes = readAt(fd, from, to - from);
    let last = bytes.length - 1;
    for (;;) {
      const feed = last > 0 ? bytes.lastIndexOf(LINE_FEED, last - 1) : -1;
      // The first line of a chunk may begin in the chunk before it.
      if (feed < 0 && from > 0) break;
      yield bytes.toString('utf8', feed + 1, last);
      if (feed < 0) return;
      last = feed;
    }
    if (last === bytes.length - 1)
      throw new Fault('foreign_state', 'A line file of the server has a line that is too long.');
    to = from + last + 1;
  }
}

function readAt(fd: number, from: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  for (let read = -1; read !== 0 && filled < length; filled += read) {
    read = readSync(fd, bytes, filled, length - filled, from + filled);
  }
  return bytes.subarray(0, filled);
}

const LINE_FEED = 0x0a;
const CHUNK_BYTES = 64 * 1024;

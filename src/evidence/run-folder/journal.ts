import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { syncFolder } from '../../base/atomic.ts';
import { monotonicMs } from '../../base/clock.ts';
import { Fault, orWriteFault } from '../../base/fault.ts';
import { isMineAlone } from '../../base/owner.ts';
import { openRegular } from '../../base/regular.ts';
import { JournalChain, chainedLines, SEPARATOR } from './chain.ts';

export const JOURNAL = 'journal.ndjson';

/**
 * The record of a run while it is alive: one line per event, written before the next step begins. A written line
 * survives a crash of Proctor; a synced line survives a power failure.
 */
export class Journal<Line> {
  readonly #fd: number;
  readonly #file: string;
  readonly #chain: JournalChain;
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = SYNC_AFTER_MS;
  #held = '';
  #flushing: NodeJS.Immediate | undefined;
  #failure: Fault | undefined;
  #waiting: Waiting[] = [];
  /** Writes what the held lines refer to, before they are written. */
  beforeFlush: (() => void) | undefined;

  private constructor(file: string, fd: number, chain: JournalChain) {
    this.#file = file;
    this.#fd = fd;
    this.#chain = chain;
  }

  static open<Line>(folder: string): Journal<Line> {
    const file = path.join(folder, JOURNAL);
    return written(() => {
      const chain = JournalChain.begin(folder);
      return new Journal<Line>(file, openSync(file, 'ax', 0o600), chain);
    });
  }

  /**
   * Continues a journal after its last proven line and cuts off the rest. `chain` must already have read the proven
   * lines.
   */
  static reopen<Line>(folder: string, provenBytes: number, chain: JournalChain): Journal<Line> {
    const file = path.join(folder, JOURNAL);
    return written(() => {
      truncateSync(file, provenBytes);
      return new Journal<Line>(file, openSync(file, 'a', 0o600), chain);
    });
  }

  /**
   * Rewrites a folder's journal with codes from this user's key. The old journal stays until the new one is complete.
   */
  static replace(folder: string, write: (append: (line: object) => void) => void): void {
    const file = path.join(folder, JOURNAL);
    const temporary = `${file}.tmp`;
    written(() => {
      rmSync(temporary, { force: true });
      const journal = new Journal<object>(temporary, openSync(temporary, 'ax', 0o600), JournalChain.begin(folder));
      try {
        write(line => journal.hold(JSON.stringify(line)));
        journal.flush();
        journal.sync();
      } finally {
        journal.close();
      }
      renameSync(temporary, file);
      syncFolder(folder);
    });
  }

  /** Appends a line. One sync covers all lines of the next 50 ms, or longer on a slow disk. */
  append(line: Line): void {
    this.appendText(JSON.stringify(line));
  }

  /** Appends a line that is already JSON. */
  appendText(line: string): void {
    this.hold(line);
    this.flush();
  }

  /** Queues a line to be written with the next one, or when the event loop is idle. */
  hold(line: string): void {
    if (this.#failure) throw this.#failure;
    this.#held += `${line}${SEPARATOR}${this.#chain.next(line)}\n`;
    if (this.#held.length > HELD_UNITS_MAX) this.flush();
    else this.#flushing ??= setImmediate(() => this.#flushSoon());
  }

  /** Queues a line. Resolves when it is written, together with all others of this turn of the event loop. */
  appendSoon(line: Line): Promise<void> {
    this.hold(JSON.stringify(line));
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  #flushSoon(): void {
    try {
      this.flush();
    } catch {
      // The next append throws this failure.
    }
  }

  /** Notifies callers that wait for their lines. */
  #settle(failure?: Fault): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { resolve, reject } of waiting) {
      if (failure) reject(failure);
      else resolve();
    }
  }

  /** Writes the queued lines. After a line that was only partly written, the journal accepts no more lines. */
  flush(): void {
    if (this.#failure) throw this.#failure;
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    const held = this.#held;
    this.#held = '';
    if (held === '') return;
    try {
      written(() => {
        this.beforeFlush?.();
        writeWhole(this.#fd, held);
      });
    } catch (error) {
      this.#failure = error as Fault;
      this.#settle(this.#failure);
      throw error;
    }
    this.#settle();
    this.#timer ??= setTimeout(() => this.#sync(), this.#pauseMs).unref();
  }

  /**
   * A syncing disk blocks file creation, so syncs take at most about 5 % of the time. If a sync fails, the next write
   * reports it.
   */
  #sync(): void {
    const startedMs = monotonicMs();
    fdatasync(this.#fd, () => {
      this.#timer = undefined;
      this.#pauseMs = Math.min(SYNC_AFTER_MS_MAX, Math.max(SYNC_AFTER_MS, 20 * (monotonicMs() - startedMs)));
    });
  }

  /** Deletes the journal, once the run is sealed. */
  remove(): void {
    this.close();
    rmSync(this.#file, { force: true });
  }

  /** Syncs everything written so far. */
  sync(): void {
    written(() => fdatasyncSync(this.#fd));
  }

  close(): void {
    clearImmediate(this.#flushing);
    clearTimeout(this.#timer);
    closeSync(this.#fd);
  }
}

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (failure: Fault) => void;
}

const HELD_UNITS_MAX = 256 * 1024;
const SYNC_AFTER_MS = 50;
const SYNC_AFTER_MS_MAX = 1_000;

/** A disk that is almost full accepts part of a line before it fails. */
function writeWhole(fd: number, lines: string): void {
  const length = Buffer.byteLength(lines);
  let from = writeSync(fd, lines);
  if (from === length) return;
  // The bytes are created only for the rest, because that takes as long as writing them.
  const bytes = Buffer.from(lines);
  while (from < length) from += writeSync(fd, bytes, from);
}

/** Lines that are not JSON objects are left out. */
export interface JournalReading<Line> {
  readonly lines: readonly Line[];
  /** This user's Proctor started the run on this machine; see `JournalChain`. */
  readonly isOurs: boolean;
}

export function readJournal<Line>(folder: string): JournalReading<Line> {
  const fd = openJournal(folder);
  try {
    if (fstatSync(fd).size > JOURNAL_BYTES_MAX)
      throw new Fault('journal_too_large', "The run's journal exceeds 256 MiB.");
    const lines: Line[] = [];
    let isOurs = false;
    for (const line of chainedLines(fd, JournalChain.read(folder), JOURNAL_BYTES_MAX)) {
      isOurs = line.isOurs;
      const value = parsedLine(line.text);
      if (typeof value === 'object' && value !== null) lines.push(value as Line);
    }
    return { lines, isOurs };
  } finally {
    closeSync(fd);
  }
}

/** Whether this user's Proctor started the run on this machine. Reads only the first line. */
export function isStartedHere(folder: string): boolean {
  let fd: number | undefined;
  try {
    fd = openJournal(folder);
    for (const { isOurs } of chainedLines(fd, JournalChain.read(folder), JOURNAL_BYTES_MAX)) return isOurs;
  } catch {
    // A missing journal, or one that belongs to another user, proves nothing.
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
  return false;
}

export function openJournal(folder: string): number {
  const fd = openRegular(path.join(folder, JOURNAL));
  if (fd === undefined && lstatSync(path.join(folder, JOURNAL), { throwIfNoEntry: false }) === undefined)
    throw new Fault('finished', 'The run is finished. There is nothing to resume.');
  if (fd !== undefined && isMineAlone(fstatSync(fd))) return fd;
  if (fd !== undefined) closeSync(fd);
  throw new Fault('foreign_journal', "The run's journal must belong to you, and no other user may have access to it.");
}

export function parsedLine(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

const JOURNAL_BYTES_MAX = 256 * 1024 * 1024;

function written<Value>(act: () => Value): Value {
  return orWriteFault('journal_failed', "The run's journal", act);
}

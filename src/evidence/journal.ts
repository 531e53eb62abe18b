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
import { syncFolder } from '../base/atomic.ts';
import { monotonicMs } from '../base/clock.ts';
import { Fault, fullDisk } from '../base/fault.ts';
import { isMineAlone } from '../base/owner.ts';
import { openRegular } from '../base/regular.ts';
import { Chain, chainedLines, SEPARATOR } from './chain.ts';

export const JOURNAL = 'journal.ndjson';

/**
 * The truth about a run while it is alive: a line for each thing that has happened, written before the next one begins.
 * A line that is written survives our death; one that is synced survives that of the machine.
 */
export class Journal<Line> {
  readonly #fd: number;
  readonly #file: string;
  readonly #chain: Chain;
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = SYNC_AFTER_MS;
  #held = '';
  #flushing: NodeJS.Immediate | undefined;
  #failure: Fault | undefined;

  private constructor(file: string, fd: number, chain: Chain) {
    this.#file = file;
    this.#fd = fd;
    this.#chain = chain;
  }

  static open<Line>(folder: string): Journal<Line> {
    const file = path.join(folder, JOURNAL);
    return told(() => {
      const chain = Chain.begin(folder);
      return new Journal<Line>(file, openSync(file, 'ax', 0o600), chain);
    });
  }

  /** Goes on with a journal after its last proven line, and cuts off what follows. `chain` has taken these lines. */
  static reopen<Line>(folder: string, provenBytes: number, chain: Chain): Journal<Line> {
    const file = path.join(folder, JOURNAL);
    return told(() => {
      truncateSync(file, provenBytes);
      return new Journal<Line>(file, openSync(file, 'a', 0o600), chain);
    });
  }

  /** Writes the journal of a folder anew, as this user's own. The old one stays until the new one is whole. */
  static replace(folder: string, write: (append: (line: object) => void) => void): void {
    const file = path.join(folder, JOURNAL);
    const temporary = `${file}.tmp`;
    told(() => {
      rmSync(temporary, { force: true });
      const journal = new Journal<object>(temporary, openSync(temporary, 'ax', 0o600), Chain.begin(folder));
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

  /** Syncs soon, and once for all lines of the next 50 ms, or of longer where the disk is slow. */
  append(line: Line): void {
    this.appendText(JSON.stringify(line));
  }

  /** A line that is JSON already. */
  appendText(line: string): void {
    this.hold(line);
    this.flush();
  }

  /** A line that may be written with the next one, or as soon as nothing else is to be done. */
  hold(line: string): void {
    if (this.#failure) throw this.#failure;
    this.#held += `${line}${SEPARATOR}${this.#chain.next(line)}\n`;
    if (this.#held.length > HELD_UNITS_MAX) this.flush();
    else this.#flushing ??= setImmediate(() => this.#flushSoon());
  }

  #flushSoon(): void {
    try {
      this.flush();
    } catch {
      // Whoever writes the next line is told.
    }
  }

  /** Writes what is held. After a line that could not be written whole, none is written any more. */
  flush(): void {
    if (this.#failure) throw this.#failure;
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    const held = this.#held;
    this.#held = '';
    if (held === '') return;
    try {
      told(() => writeWhole(this.#fd, held));
    } catch (error) {
      this.#failure = error as Fault;
      throw error;
    }
    this.#timer ??= setTimeout(() => this.#sync(), this.#pauseMs).unref();
  }

  /**
   * While a disk syncs, nobody can make a file on it, so it may take only a small part of the time. Where it fails, the
   * next line will fail too, and says so.
   */
  #sync(): void {
    const startedMs = monotonicMs();
    fdatasync(this.#fd, () => {
      this.#timer = undefined;
      this.#pauseMs = Math.min(SYNC_AFTER_MS_MAX, Math.max(SYNC_AFTER_MS, 20 * (monotonicMs() - startedMs)));
    });
  }

  /** The run is sealed, and its folder says everything. */
  remove(): void {
    this.close();
    rmSync(this.#file, { force: true });
  }

  /** What is written so far lasts. */
  sync(): void {
    told(() => fdatasyncSync(this.#fd));
  }

  close(): void {
    clearImmediate(this.#flushing);
    clearTimeout(this.#timer);
    closeSync(this.#fd);
  }
}

const HELD_UNITS_MAX = 256 * 1024;
const SYNC_AFTER_MS = 50;
const SYNC_AFTER_MS_MAX = 1_000;

/** A disk that is almost full takes a part of a line before it refuses the rest. */
function writeWhole(fd: number, line: string): void {
  const bytes = Buffer.from(line);
  for (let from = 0; from < bytes.length; ) from += writeSync(fd, bytes, from);
}

/** What a journal says. Lines that are no JSON objects are left out. */
export interface JournalReading<Line> {
  readonly lines: readonly Line[];
  /** This user's Proctor began the run on this machine; see `Chain`. */
  readonly isOurs: boolean;
}

export function readJournal<Line>(folder: string): JournalReading<Line> {
  const fd = openJournal(folder);
  try {
    if (fstatSync(fd).size > JOURNAL_BYTES_MAX)
      throw new Fault('journal_too_large', 'The journal of the run is too large.');
    const lines: Line[] = [];
    let isOurs = false;
    for (const line of chainedLines(fd, Chain.read(folder), JOURNAL_BYTES_MAX)) {
      isOurs = line.isOurs;
      const value = parsedLine(line.text);
      if (typeof value === 'object' && value !== null) lines.push(value as Line);
    }
    return { lines, isOurs };
  } finally {
    closeSync(fd);
  }
}

/** Whether this user's Proctor began the run in a folder, on this machine. Only the first line is read. */
export function isStartedHere(folder: string): boolean {
  let fd: number | undefined;
  try {
    fd = openJournal(folder);
    for (const { isOurs } of chainedLines(fd, Chain.read(folder), JOURNAL_BYTES_MAX)) return isOurs;
  } catch {
    // Neither a journal of another user nor a missing one proves anything.
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
  return false;
}

/** Opens a journal to read it. */
export function openJournal(folder: string): number {
  const fd = openRegular(path.join(folder, JOURNAL));
  if (fd === undefined && lstatSync(path.join(folder, JOURNAL), { throwIfNoEntry: false }) === undefined)
    throw new Fault('finished', 'The run is finished: there is nothing to resume.');
  if (fd !== undefined && isMineAlone(fstatSync(fd))) return fd;
  if (fd !== undefined) closeSync(fd);
  throw new Fault('foreign_journal', 'The journal of the run is not a file of this user alone.');
}

export function parsedLine(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

const JOURNAL_BYTES_MAX = 256 * 1024 * 1024;

function told<Value>(act: () => Value): Value {
  try {
    return act();
  } catch (cause) {
    throw new Fault('journal_failed', `The journal of the run could not be written${fullDisk(cause)}.`, { cause });
  }
}

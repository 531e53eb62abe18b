import { closeSync, fdatasync, fdatasyncSync, lstatSync, openSync, rmSync, truncateSync, writeSync } from 'node:fs';
import path from 'node:path';
import { monotonicMs } from '../base/clock.ts';
import { Fault, fullDisk } from '../base/fault.ts';
import { isMineAlone } from '../base/owner.ts';
import { readRegular } from '../base/regular.ts';

export const JOURNAL = 'journal.ndjson';

/**
 * The truth about a run while it is alive: a line for each thing that has happened, written before the next one begins.
 * A line that is written survives our death; one that is synced survives that of the machine.
 */
export class Journal<Line> {
  readonly #fd: number;
  readonly #file: string;
  #timer: NodeJS.Timeout | undefined;
  #pauseMs = SYNC_AFTER_MS;
  #held = '';
  #flushing: NodeJS.Immediate | undefined;
  #failure: Fault | undefined;

  private constructor(file: string, fd: number) {
    this.#file = file;
    this.#fd = fd;
  }

  static open<Line>(folder: string): Journal<Line> {
    const file = path.join(folder, JOURNAL);
    return told(() => new Journal<Line>(file, openSync(file, 'ax', 0o600)));
  }

  /** Goes on with one that is there, after cutting off a last line that was never finished. */
  static reopen<Line>(folder: string, wholeBytes: number): Journal<Line> {
    const file = path.join(folder, JOURNAL);
    return told(() => {
      truncateSync(file, wholeBytes);
      return new Journal<Line>(file, openSync(file, 'a', 0o600));
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
    this.#held += `${line}\n`;
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

/** The lines of a journal; the last may be a part of one, or anything after a power cut, and is then left out. */
export function readJournal<Line>(folder: string): Line[] {
  const file = path.join(folder, JOURNAL);
  if (lstatSync(file).size > JOURNAL_BYTES_MAX)
    throw new Fault('journal_too_large', 'The journal of the run is too large.');
  const bytes = readRegular(file, JOURNAL_BYTES_MAX, isMineAlone);
  if (!bytes) throw new Fault('foreign_journal', 'The journal of the run is not a file of this user alone.');
  return bytes
    .toString()
    .split('\n')
    .flatMap(line => {
      try {
        const value: unknown = line === '' ? null : JSON.parse(line);
        return typeof value === 'object' && value !== null ? [value as Line] : [];
      } catch {
        return [];
      }
    });
}

const JOURNAL_BYTES_MAX = 256 * 1024 * 1024;

function told<Value>(act: () => Value): Value {
  try {
    return act();
  } catch (cause) {
    throw new Fault('journal_failed', `The journal of the run could not be written${fullDisk(cause)}.`, { cause });
  }
}

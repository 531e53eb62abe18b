import { closeSync, fdatasync, lstatSync, openSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
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

  private constructor(file: string, fd: number) {
    this.#file = file;
    this.#fd = fd;
  }

  static open<Line>(folder: string): Journal<Line> {
    const file = path.join(folder, JOURNAL);
    return told(() => new Journal<Line>(file, openSync(file, 'ax', 0o600)));
  }

  /** Syncs soon, and once for all lines of the next 50 ms. */
  append(line: Line): void {
    told(() => writeSync(this.#fd, `${JSON.stringify(line)}\n`));
    this.#timer ??= setTimeout(() => this.#syncSoon(), SYNC_AFTER_MS).unref();
  }

  /** Where it fails, the next line will fail too, and says so. */
  #syncSoon(): void {
    this.#timer = undefined;
    fdatasync(this.#fd, () => undefined);
  }

  /** The run is sealed, and its folder says everything. */
  remove(): void {
    this.close();
    rmSync(this.#file, { force: true });
  }

  close(): void {
    clearTimeout(this.#timer);
    closeSync(this.#fd);
  }
}

const SYNC_AFTER_MS = 50;

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
    throw new Fault('journal_failed', 'The journal of the run could not be written.', { cause });
  }
}

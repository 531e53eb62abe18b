import { closeSync, fstatSync, lstatSync, type BigIntStats } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { linesOf } from '../../base/lines.ts';
import { JournalChain, splitCode } from './chain.ts';
import { JOURNAL, openJournal, parsedLine } from './journal.ts';

/** A proven line of a journal. */
export interface TailLine {
  /** Starts at 1. */
  readonly number: number;
  /** Undefined if the line is not JSON. */
  readonly value: unknown;
}

/**
 * Reads a journal while another process writes it. Reading always continues after the last proven line, so a torn line
 * that a resume cuts off is never returned. The open file stays readable after the journal is deleted.
 */
export class JournalTail {
  readonly #fd: number;
  readonly #stat: BigIntStats;
  readonly #chain: JournalChain | undefined;
  readonly #lineBytesMax: number;
  /** The offset after the last proven line, and its number. */
  #end = 0;
  #lines = 0;
  /** The offset after every 256th line. */
  readonly #marks: number[] = [0];
  /** The size and time of the file when its rest was last found unproven. */
  #unproven = '';
  #isForeign = false;

  private constructor(fd: number, folder: string, lineBytesMax: number) {
    this.#fd = fd;
    this.#stat = fstatSync(fd, { bigint: true });
    this.#chain = JournalChain.read(folder);
    this.#lineBytesMax = lineBytesMax;
  }

  /** Returns `missing` if there is no journal, and `foreign` if another user may have written it. */
  static open(folder: string, lineBytesMax: number): JournalTail | 'missing' | 'foreign' {
    let fd: number | undefined;
    try {
      fd = openJournal(folder);
      return new JournalTail(fd, folder, lineBytesMax);
    } catch (error) {
      if (fd !== undefined) closeSync(fd);
      // The folder may have been removed in the meantime.
      return error instanceof Fault && error.code === 'foreign_journal' ? 'foreign' : 'missing';
    }
  }

  /** The number of proven lines so far. */
  get lines(): number {
    return this.#lines;
  }

  /** The first line is complete, and this user's Proctor did not write it here. */
  get isForeign(): boolean {
    return this.#isForeign;
  }

  /** Whether the folder still contains this journal. */
  isIn(folder: string): boolean {
    try {
      const { ino, dev } = lstatSync(path.join(folder, JOURNAL), { bigint: true });
      return ino === this.#stat.ino && dev === this.#stat.dev;
    } catch {
      return false;
    }
  }

  /** Returns new proven lines, about `bytesMax` at once. Call it again until it returns none. */
  read(bytesMax: number): TailLine[] {
    const { size, mtimeNs } = fstatSync(this.#fd, { bigint: true });
    const state = `${size} ${mtimeNs}`;
    if (Number(size) <= this.#end || this.#isForeign || state === this.#unproven) return [];
    const found: TailLine[] = [];
    const from = this.#end;
    for (const { bytes, isCut } of linesOf(this.#fd, this.#lineBytesMax, from, Number(size))) {
      const split = bytes && !isCut ? splitCode(bytes) : undefined;
      if (!bytes || !split || !this.#chain?.takes(split.text, split.code)) {
        this.#unproven = state;
        this.#isForeign = this.#lines === 0 && !isCut;
        break;
      }
      this.#end += bytes.length + 1;
      this.#lines++;
      if (this.#lines % MARK_EVERY === 0) this.#marks.push(this.#end);
      found.push({ number: this.#lines, value: parsedLine(split.text) });
      if (this.#end - from >= bytesMax) break;
    }
    return found;
  }

  /** Reads proven lines again, after line `after` and up to line `to`. */
  *again(after: number, to: number): Generator<TailLine> {
    const mark = Math.min(Math.floor(after / MARK_EVERY), this.#marks.length - 1);
    let number = mark * MARK_EVERY;
    const last = Math.min(to, this.#lines);
    if (after >= last) return;
    for (const { bytes } of linesOf(this.#fd, this.#lineBytesMax, this.#marks[mark], this.#end)) {
      number++;
      if (number > last || !bytes) return;
      if (number > after) yield { number, value: parsedLine(splitCode(bytes)?.text ?? bytes) };
    }
  }

  close(): void {
    closeSync(this.#fd);
  }
}

const MARK_EVERY = 256;

import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { canonicalize } from '../../base/canonical.ts';
import { Fault } from '../../base/fault.ts';
import { linesOf } from '../../base/lines.ts';
import { isInShard, type Shard, type SuiteCase, suiteCase } from '../../contracts/suite/index.ts';
import { OWN_FILE } from '../../base/private.ts';
import { openRegular } from '../../base/regular.ts';

/** The cases of a run, stored in a file. Only ids and offsets stay in memory. */
export class CaseList {
  readonly ids: readonly string[];
  readonly #fd: number;
  readonly #ends: readonly number[];
  #ahead: Buffer = Buffer.alloc(0);
  #aheadFrom = 0;

  private constructor(fd: number, ids: readonly string[], ends: readonly number[]) {
    this.#fd = fd;
    this.ids = ids;
    this.#ends = ends;
  }

  static open(file: string): CaseList {
    const fd = openRegular(file);
    if (fd === undefined) throw new Fault('cases_missing', 'The run folder contains no cases.');
    const ids: string[] = [];
    const ends: number[] = [];
    let end = 0;
    for (const { bytes } of linesOf(fd, suiteCase.bytesMax, 0)) {
      if (!bytes)
        throw new Fault('cases_broken', 'A case in the run folder exceeds the size limit, so the file was changed.');
      end += bytes.length + 1;
      ends.push(end);
      ids.push((JSON.parse(bytes.toString()) as SuiteCase).id);
    }
    return new CaseList(fd, ids, ends);
  }

  at(index: number): SuiteCase {
    const from = index === 0 ? 0 : (this.#ends[index - 1] as number);
    const end = this.#ends[index] as number;
    // Cases are requested in order, so read ahead.
    if (from < this.#aheadFrom || end > this.#aheadFrom + this.#ahead.length) {
      const ahead = Buffer.allocUnsafe(Math.max(end - from, AHEAD_BYTES));
      this.#ahead = ahead.subarray(0, readSync(this.#fd, ahead, 0, ahead.length, from));
      this.#aheadFrom = from;
    }
    return JSON.parse(this.#ahead.toString('utf8', from - this.#aheadFrom, end - this.#aheadFrom)) as SuiteCase;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

export interface WrittenCases {
  readonly sha256: string;
  readonly bytes: number;
  readonly count: number;
}

/** What was written, and what would have been without a shard. */
export interface WrittenShard {
  readonly written: WrittenCases;
  readonly all: WrittenCases;
}

/** Writes cases durably, one per line; of a shard, every `total`-th case from the one at `index`. */
export function writeCases(file: string, read: (take: TakeCase) => void, shard?: Shard): WrittenShard {
  if (!shard) {
    const written = writeLines(file, take => read(one => take(`${canonicalize(one)}\n`)));
    return { written, all: written };
  }
  const all = new LineDigest();
  const written = writeLines(file, take => {
    read(one => {
      const line = `${canonicalize(one)}\n`;
      if (isInShard(all.count, shard)) take(line);
      all.add(line);
    });
  });
  return { written, all: all.note() };
}

type TakeCase = (one: SuiteCase) => void;

class LineDigest {
  readonly #hash = createHash('sha256');
  #bytes = 0;
  count = 0;

  add(line: string): void {
    this.#hash.update(line);
    this.#bytes += Buffer.byteLength(line);
    this.count++;
  }

  note(): WrittenCases {
    return { sha256: `sha256:${this.#hash.digest('hex')}`, bytes: this.#bytes, count: this.count };
  }
}

function writeLines(file: string, read: (take: (line: string) => void) => void): WrittenCases {
  const fd = openSync(file, 'wx', OWN_FILE);
  const hash = createHash('sha256');
  let bytes = 0;
  let count = 0;
  let held: string[] = [];
  let heldUnits = 0;
  const flush = (): void => {
    const chunk = Buffer.from(held.join(''));
    for (let from = 0; from < chunk.length; ) from += writeSync(fd, chunk, from);
    hash.update(chunk);
    bytes += chunk.length;
    held = [];
    heldUnits = 0;
  };
  try {
    read(line => {
      held.push(line);
      heldUnits += line.length;
      count++;
      if (heldUnits > HELD_UNITS) flush();
    });
    flush();
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  return { sha256: `sha256:${hash.digest('hex')}`, bytes, count };
}

const HELD_UNITS = 256 * 1024;
const AHEAD_BYTES = 64 * 1024;

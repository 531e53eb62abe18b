import { createHmac } from 'node:crypto';
import { lstatSync } from 'node:fs';
import path from 'node:path';
import { linesOf } from '../base/lines.ts';
import { makeStateKey, readStateKey } from '../base/state-key.ts';

/**
 * Proves who wrote a journal: each line carries a code over itself and the code before it, made with a key that lies
 * outside of the project. The first code covers the run's id and its folder's inode, so a copied journal proves nothing.
 */
export class Chain {
  readonly #key: Buffer;
  #last: string;

  private constructor(key: Buffer, folder: string) {
    this.#key = key;
    const { ino } = lstatSync(folder, { bigint: true });
    this.#last = `${FORMAT}\n${path.basename(folder)}\n${ino}\n`;
  }

  /** For the process that begins a run. */
  static begin(folder: string): Chain {
    return new Chain(makeStateKey().bytes, folder);
  }

  /** For a reader; undefined if this user has no key, and so has begun nothing. */
  static read(folder: string): Chain | undefined {
    const key = readStateKey();
    return key && new Chain(key.bytes, folder);
  }

  /** The code of the next line. */
  next(line: string | Uint8Array): string {
    this.#last = this.#code(line);
    return this.#last;
  }

  /** Whether a line is the next one. If not, the chain stays where it is. */
  takes(line: Uint8Array, code: string): boolean {
    const expected = this.#code(line);
    if (code !== expected) return false;
    this.#last = expected;
    return true;
  }

  #code(line: string | Uint8Array): string {
    return createHmac('sha256', this.#key).update(this.#last).update(line).digest('base64url');
  }
}

/** What a run says that could not be recovered after a crash; undefined where it could be. */
export function stateWarning(): string | undefined {
  const { trouble } = makeStateKey();
  return trouble && `state_folder: ${trouble}, so this run cannot be recovered or resumed after a crash`;
}

const FORMAT = 'proctor-journal.v1';

/** A line of a journal without its code. */
export interface ChainedLine {
  /** Valid until the next line is asked for. */
  readonly text: Buffer;
  /** This user's Proctor wrote it and every line before it, in this folder and on this machine. */
  readonly isOurs: boolean;
  /** Where the line ends in the journal, with its line feed. */
  readonly end: number;
}

/**
 * The lines of a journal. If the first line is ours, the first that is not ends the journal: whatever follows counts as
 * not written. If the first line is not ours, none is, and all are returned for display.
 */
export function* chainedLines(
  fd: number,
  chain: Chain | undefined,
  lineBytesMax: number,
): Generator<ChainedLine, void, undefined> {
  let isOurs: boolean | undefined;
  let end = 0;
  for (const { bytes, isCut } of linesOf(fd, lineBytesMax, 0)) {
    if (!bytes) return;
    const tab = bytes.lastIndexOf(TAB);
    const text = tab < 0 ? bytes : bytes.subarray(0, tab);
    const holds = isCut !== true && tab >= 0 && chain?.takes(text, bytes.toString('latin1', tab + 1)) === true;
    isOurs ??= holds;
    if (isOurs && !holds) return;
    end += bytes.length + 1;
    yield { text, isOurs, end };
  }
}

/** What stands between a line and its code. JSON escapes it everywhere else. */
export const SEPARATOR = '\t';
const TAB = 0x09;

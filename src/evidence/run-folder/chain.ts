import { createHmac } from 'node:crypto';
import { lstatSync } from 'node:fs';
import path from 'node:path';
import { linesOf } from '../../base/lines.ts';
import { makeStateKey, readStateKey } from '../../base/state-key.ts';

/**
 * Proves who wrote a journal. Each line carries an HMAC over itself and the previous code, with a key stored outside
 * the project. The first code covers the run id and the inode of the run folder, so a copied journal proves nothing.
 */
export class JournalChain {
  readonly #key: Buffer;
  #last: string;

  private constructor(key: Buffer, folder: string) {
    this.#key = key;
    const { ino } = lstatSync(folder, { bigint: true });
    this.#last = `${FORMAT}\n${path.basename(folder)}\n${ino}\n`;
  }

  /** For the process that starts a run. */
  static begin(folder: string): JournalChain {
    return new JournalChain(makeStateKey().bytes, folder);
  }

  /** For a reader; undefined if this user has no key and therefore has started no run. */
  static read(folder: string): JournalChain | undefined {
    const key = readStateKey();
    return key && new JournalChain(key.bytes, folder);
  }

  /** Returns the code of the next line. */
  next(line: string | Uint8Array): string {
    this.#last = this.#code(line);
    return this.#last;
  }

  /** Whether this is the next line. If not, the chain does not advance. */
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

/** The warning for a run that cannot be recovered after a crash; undefined if it can. */
export function stateWarning(): string | undefined {
  const { trouble } = makeStateKey();
  return trouble && `state_folder: ${trouble}, so this run cannot be recovered or resumed after a crash`;
}

const FORMAT = 'proctor-journal.v1';

export interface ChainedLine {
  /** Valid until you request the next line. */
  readonly text: Buffer;
  /** This user's Proctor wrote this line and all lines before it, in this folder on this machine. */
  readonly isOurs: boolean;
  /** The offset in the journal after the line feed of this line. */
  readonly end: number;
}

/**
 * Reads the lines of a journal. If the first line is ours, reading stops at the first line that is not. If the first
 * line is not ours, none is, and all lines are returned for display.
 */
export function* chainedLines(
  fd: number,
  chain: JournalChain | undefined,
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

/** Separates a line from its code. JSON escapes every other tab. */
export const SEPARATOR = '\t';
const TAB = 0x09;

import { hash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import path from 'node:path';
import { linesOf } from '../../base/lines.ts';
import { makeStateKey, readStateKey } from '../../base/state-key.ts';

/**
 * Proves who wrote a journal. Each line carries an HMAC over itself and the previous code, with a key stored outside
 * the project. The first code covers the run id and the inode of the run folder, so a copied journal proves nothing.
 */
export class JournalChain {
  readonly #mac: LineMac;
  #last: string;

  private constructor(key: Buffer, start: string) {
    this.#mac = new LineMac(key);
    this.#last = start;
  }

  /** For the process that starts a run. */
  static begin(folder: string): JournalChain {
    return new JournalChain(makeStateKey().bytes, startOf(folder));
  }

  /** For a reader; undefined if this user has no key and therefore has started no run. */
  static read(folder: string): JournalChain | undefined {
    const key = readStateKey();
    return key && new JournalChain(key.bytes, startOf(folder));
  }

  /**
   * For a file of lines that may be restored from a backup: covers a label instead of an inode. Undefined if this user
   * has no key and therefore has written no line.
   */
  static labelled(label: string, mayMakeKey: boolean): JournalChain | undefined {
    const key = mayMakeKey ? makeStateKey() : readStateKey();
    return key && new JournalChain(key.bytes, `${LABELLED}\n${label}\n`);
  }

  /** Returns the code of the next line. */
  next(line: string | Uint8Array): string {
    this.#last = this.#mac.code(this.#last, line);
    return this.#last;
  }

  /** Whether this is the next line. If not, the chain does not advance. */
  takes(line: Uint8Array, code: string): boolean {
    const expected = this.#mac.code(this.#last, line);
    if (code !== expected) return false;
    this.#last = expected;
    return true;
  }
}

/**
 * HMAC-SHA-256 (RFC 2104) of the previous code and a line. Two hashes of bytes in one buffer are faster than
 * `createHmac`, which allocates an object per line.
 */
class LineMac {
  /** The inner key, then the bytes to hash. */
  readonly #inner = Buffer.alloc(INNER_BYTES, 0x36);
  /** The outer key, then the inner hash. */
  readonly #outer = Buffer.alloc(BLOCK_BYTES + HASH_BYTES, 0x5c);

  constructor(key: Buffer) {
    if (key.length > BLOCK_BYTES) throw new RangeError('The key is longer than a block.');
    for (const [at, byte] of key.entries()) {
      this.#inner[at] = byte ^ 0x36;
      this.#outer[at] = byte ^ 0x5c;
    }
  }

  code(last: string, line: string | Uint8Array): string {
    const lineAt = BLOCK_BYTES + Buffer.byteLength(last);
    const bytes = this.#withRoom(lineAt + Buffer.byteLength(line));
    bytes.write(last, BLOCK_BYTES);
    if (typeof line === 'string') bytes.write(line, lineAt);
    else bytes.set(line, lineAt);
    this.#outer.write(hash('sha256', bytes, 'binary'), BLOCK_BYTES, 'binary');
    return hash('sha256', this.#outer, 'base64url');
  }

  /** A line that does not fit gets a buffer of its own, so that one long line does not keep its size in memory. */
  #withRoom(length: number): Buffer {
    if (length <= INNER_BYTES) return this.#inner.subarray(0, length);
    const larger = Buffer.allocUnsafe(length);
    this.#inner.copy(larger, 0, 0, BLOCK_BYTES);
    return larger;
  }
}

const BLOCK_BYTES = 64;
const HASH_BYTES = 32;
const INNER_BYTES = 64 * 1024;

/** The warning for a run that cannot be recovered after a crash; undefined if it can. */
export function stateWarning(): string | undefined {
  const { trouble } = makeStateKey();
  return trouble && `state_folder: ${trouble}, so this run cannot be recovered or resumed after a crash`;
}

const FORMAT = 'proctor-journal.v1';
const LABELLED = 'proctor-lines.v1';

function startOf(folder: string): string {
  const { ino } = lstatSync(folder, { bigint: true });
  return `${FORMAT}\n${path.basename(folder)}\n${ino}\n`;
}

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
    const split = splitCode(bytes);
    const holds = isCut !== true && split !== undefined && chain?.takes(split.text, split.code) === true;
    isOurs ??= holds;
    if (isOurs && !holds) return;
    end += bytes.length + 1;
    yield { text: split?.text ?? bytes, isOurs, end };
  }
}

/** Splits a line of a journal into its text and its code; undefined if it has no code. */
export function splitCode(bytes: Buffer): { readonly text: Buffer; readonly code: string } | undefined {
  const tab = bytes.lastIndexOf(TAB);
  return tab < 0 ? undefined : { text: bytes.subarray(0, tab), code: bytes.toString('latin1', tab + 1) };
}

/** Separates a line from its code. JSON escapes every other tab. */
export const SEPARATOR = '\t';
const TAB = 0x09;

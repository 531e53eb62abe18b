import { closeSync, existsSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as others } from 'node:timers/promises';
import { Fault } from '../../base/fault.ts';
import { openHash } from '../../base/file-hash.ts';
import { bytesHash } from '../../base/hash.ts';
import { readJson } from '../../base/json.ts';
import { printable } from '../../base/printable.ts';
import { openBelow, readRegular } from '../../base/regular.ts';
import { openSeal, seal, type SealStatement } from '../../contracts/seal/index.ts';
import { SEAL } from './finish.ts';

interface Sealed {
  /** The first difference from the seal, as a sentence without its full stop; undefined if there is none. */
  readonly trouble: string | undefined;
  /** Whether the folder contains scripts that judge cases. */
  readonly hasChecks: boolean;
}

/** Compares every file that the seal lists with the folder. This is faster than verifying the run, and enough to judge it. */
export async function sealDifference(folder: string): Promise<Sealed> {
  const sealed = SealedFolder.open(folder);
  if (!sealed) return { trouble: NO_SEAL, hasChecks: false };
  return { trouble: await sealed.firstChange(), hasChecks: sealed.hasChecks };
}

export const NO_SEAL = 'it has no readable seal';

/**
 * The files of a folder as its seal lists them. `read` checks the bytes that it returns; `firstChange` checks the rest.
 * Stores columns instead of objects, because a seal may list 100,000 files.
 */
export class SealedFolder {
  readonly hasChecks: boolean;
  readonly #folder: string;
  /** The row of each file. */
  readonly #rows = new Map<string, number>();
  readonly #hashes: Buffer;
  readonly #sizes: Float64Array;
  /** 1 once the file's bytes have matched. */
  readonly #checked: Uint8Array;

  /** Undefined if the folder has no readable seal. */
  static open(folder: string): SealedFolder | undefined {
    const opened = openSeal(sealIn(folder));
    return opened.ok ? new SealedFolder(folder, opened.statement.subject) : undefined;
  }

  private constructor(folder: string, subject: SealStatement['subject']) {
    this.#folder = folder;
    this.#hashes = Buffer.allocUnsafe(HASH_BYTES * subject.length);
    this.#sizes = new Float64Array(subject.length);
    this.#checked = new Uint8Array(subject.length);
    for (const [row, { name, digest, annotations }] of subject.entries()) {
      this.#rows.set(name, row);
      this.#hashes.write(digest.sha256, HASH_BYTES * row, 'hex');
      this.#sizes[row] = annotations.size_bytes;
    }
    this.hasChecks = subject.some(({ name }) => name.startsWith('assets/check_'));
  }

  /** Checks the wanted files that have not been checked yet. Returns the first difference, in seal order. */
  async firstChange(isWanted: (name: string) => boolean = () => true): Promise<string | undefined> {
    let count = 0;
    for (const [name, row] of this.#rows) {
      if (this.#checked[row] === 1 || !isWanted(name)) continue;
      if (!isTheSame(this.#folder, name, this.#sizes[row] as number, this.#hash(row))) return changed(name);
      this.#checked[row] = 1;
      if (++count % FILES_AT_ONCE === 0) await others();
    }
    return undefined;
  }

  /**
   * Reads a file at the top of the folder. Returns undefined if the seal does not list it, or lists it with more than
   * `bytesMax`. Throws a `not_as_sealed` fault if the bytes do not match the seal.
   */
  read(name: string, bytesMax: number): Buffer | undefined {
    const row = this.#rows.get(name);
    if (row === undefined) return undefined;
    const size = this.#sizes[row] as number;
    if (size > bytesMax) return undefined;
    const bytes = readRegular(`${this.#folder}${path.sep}${name}`, size);
    if (bytes?.length !== size || bytesHash(bytes) !== this.#hash(row)) throw notAsSealed(this.#folder, changed(name));
    this.#checked[row] = 1;
    return bytes;
  }

  /** Throws a `not_as_sealed` fault if a file was changed or added. A missing file that the seal does not list is fine. */
  demand(names: readonly string[]): void {
    for (const name of names) {
      const row = this.#rows.get(name);
      if (row === undefined ? !existsSync(path.join(this.#folder, name)) : this.#checked[row] === 1) continue;
      if (row === undefined || !isTheSame(this.#folder, name, this.#sizes[row] as number, this.#hash(row)))
        throw notAsSealed(this.#folder, changed(name));
      this.#checked[row] = 1;
    }
  }

  #hash(row: number): string {
    return `sha256:${this.#hashes.toString('hex', HASH_BYTES * row, HASH_BYTES * (row + 1))}`;
  }
}

function isTheSame(folder: string, name: string, bytes: number, sha256: string): boolean {
  let fd: number | undefined;
  try {
    const opened = openBelow(folder, name);
    fd = opened.fd;
    return opened.stat.isFile() && opened.stat.size === bytes && openHash(fd) === sha256;
  } catch {
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

const HASH_BYTES = 32;

/** After this many files, other work in this process gets a turn. */
const FILES_AT_ONCE = 256;

function changed(name: string): string {
  return `${printable(name)} is missing or was changed`;
}

export function notAsSealed(folder: string, trouble: string): Fault {
  const id = printable(path.basename(folder));
  return new Fault('not_as_sealed', `${id} does not match its seal: ${trouble}. Run proctor verify for details.`);
}

/** A separate function, so that the seal's bytes and text (20 MB each) are freed before its payload is decoded. */
function sealIn(folder: string): unknown {
  const bytes = readRegular(path.join(folder, SEAL), seal.bytesMax);
  const reading = bytes && readJson(bytes, { bytesMax: seal.bytesMax });
  return reading?.ok ? reading.value : undefined;
}

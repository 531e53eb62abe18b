import { createHash } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as others } from 'node:timers/promises';
import { syncFolder, temporaryBeside } from '../../base/atomic.ts';
import { canonicalize } from '../../base/canonical.ts';
import { readChunk } from '../../base/chunk.ts';
import { codeOf, Fault } from '../../base/fault.ts';
import { bytesHash, type ContentHash } from '../../base/hash.ts';
import { printable } from '../../base/printable.ts';
import { OWN_FILE } from '../../base/private.ts';
import { readRegular } from '../../base/regular.ts';
import { TAR_END, TAR_FILE_BYTES_MAX, TAR_PATH_BYTES_MAX, tarHead, tarPadding } from '../../base/tar.ts';
import { seal, type SealStatement } from '../../contracts/seal/index.ts';
import { expiredIn } from '../run-folder/expired.ts';
import { SEAL } from '../run-folder/finish.ts';
import { openOwn } from '../run-folder/own-file.ts';
import { type OpenedSeal, openedSeal } from './pack-file.ts';
import { FOLDER, INTERNAL, LATER, LEDGER_LINE, PACK, packDocument, packedFiles, type Unsealed } from './pack-layout.ts';

export interface Packing {
  /** Include internal files. */
  readonly withInternal: boolean;
  /** With its line feed. */
  readonly ledgerLine: string | undefined;
  /** Cancels packing and removes the partial file. */
  readonly signal?: AbortSignal | undefined;
}

export interface Packed {
  readonly bytes: number;
  /** The hash of the whole pack. */
  readonly sha256: ContentHash;
  readonly entries: number;
  /** The number of sealed files that were left out. */
  readonly leftOut: number;
}

/**
 * Packs a sealed folder into one file, completely or not at all, in constant memory. Each file is hashed while it is
 * copied and must match the seal, even if the folder changes meanwhile.
 */
export async function writePack(folder: string, file: string, packing: Packing): Promise<Packed> {
  const temporary = temporaryBeside(file);
  let fd: number | undefined;
  try {
    fd = openSync(temporary, 'wx', OWN_FILE);
    const packed = await writeEntries(folder, fd, packing);
    fsyncSync(fd);
    closeSync(fd);
    fd = undefined;
    appear(temporary, file);
    syncFolder(path.dirname(file));
    return packed;
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    if (codeOf(cause) === '') throw cause;
    throw new Fault('write_failed', `The pack ${printable(path.basename(file))} could not be written.`, { cause });
  } finally {
    if (fd !== undefined) closeSync(fd);
    rmSync(temporary, { force: true });
  }
}

export function sealOf(folder: string): OpenedSeal | undefined {
  return openedSeal(readRegular(path.join(folder, SEAL), seal.bytesMax));
}

export function notSealed(): Fault {
  return new Fault('not_sealed', 'The run cannot be packed: it has no readable seal.');
}

async function writeEntries(folder: string, fd: number, packing: Packing): Promise<Packed> {
  const opened = sealOf(folder);
  if (!opened) throw notSealed();
  const { statement, sha256: sealSha256 } = opened;
  const { ledgerLine, signal } = packing;
  const expired = expiredIn(folder);
  const isGone =
    expired.size > 0 && !statement.subject.some(({ name }) => name.startsWith(INTERNAL) && !expired.has(name));
  const withInternal = packing.withInternal && !isGone;
  if (withInternal && !hasInternal(folder, statement)) {
    throw new Fault('no_internal', 'The internal files of this run are not in its folder, so they cannot be packed.');
  }
  const out = new Output(fd);
  const sealed = new Map(statement.subject.map(({ name, digest }) => [name, `sha256:${digest.sha256}`]));
  const unsealed: Unsealed[] = [];
  let entries = 0;
  for (const name of packedFiles(statement, withInternal, name => existsSync(path.join(folder, name)), expired)) {
    const { size, sha256 } = copy(folder, name, out);
    if (sha256 !== (name === SEAL ? sealSha256 : (sealed.get(name) ?? sha256))) throw changed(name);
    if (LATER.includes(name) && !sealed.has(name)) unsealed.push({ path: FOLDER + name, sha256, size_bytes: size });
    if (++entries % 256 === 0) await others();
    if (signal?.aborted) throw new Fault('interrupted', 'Packing was interrupted. Nothing was written.');
  }
  if (ledgerLine !== undefined) {
    const bytes = Buffer.from(ledgerLine);
    unsealed.push({ path: LEDGER_LINE, sha256: bytesHash(bytes), size_bytes: bytes.length });
    out.entry(LEDGER_LINE, bytes);
    entries++;
  }
  const document = packDocument(statement, sealSha256, unsealed, withInternal);
  out.entry(PACK, Buffer.from(canonicalize(document)));
  out.write(TAR_END);
  return { ...out.end(), entries: entries + 1, leftOut: document.left_out.length };
}

function hasInternal(folder: string, { subject }: SealStatement): boolean {
  return subject.every(({ name }) => !name.startsWith(INTERNAL) || existsSync(path.join(folder, name)));
}

/**
 * Copies a file after its header. The header states the size at opening, so the file must not change while it is
 * copied.
 */
function copy(folder: string, name: string, out: Output): { readonly size: number; readonly sha256: ContentHash } {
  const { fd, stat } = opened(folder, name);
  try {
    const { size } = stat;
    if (size > TAR_FILE_BYTES_MAX || Buffer.byteLength(FOLDER + name) > TAR_PATH_BYTES_MAX) {
      throw new Fault('too_large', `${printable(name)} exceeds the size or name length that a pack supports.`);
    }
    out.write(tarHead(FOLDER + name, size));
    const hash = createHash('sha256');
    let left = size;
    for (let length = -1; length !== 0; left -= length) {
      length = readChunk(fd, CHUNK);
      if (length > left) throw changed(name);
      hash.update(CHUNK.subarray(0, length));
      out.write(CHUNK.subarray(0, length));
    }
    if (left > 0) throw changed(name);
    out.write(Buffer.alloc(tarPadding(size)));
    return { size, sha256: `sha256:${hash.digest('hex')}` };
  } finally {
    closeSync(fd);
  }
}

/** Checks the owner of each file, because the folder may change while it is packed. */
function opened(folder: string, name: string): ReturnType<typeof openOwn> {
  try {
    return openOwn(folder, name);
  } catch (error) {
    throw error instanceof Fault ? error : changed(name);
  }
}

const CHUNK = Buffer.allocUnsafe(256 * 1024);

function changed(name: string): Fault {
  return new Fault('changed', `${printable(name)} was changed or removed during packing. Nothing was written.`);
}

/** Buffers writes to a file and hashes them. */
class Output {
  readonly #fd: number;
  readonly #hash = createHash('sha256');
  readonly #held = Buffer.allocUnsafe(1024 * 1024);
  #length = 0;
  #bytes = 0;

  constructor(fd: number) {
    this.#fd = fd;
  }

  entry(name: string, bytes: Buffer): void {
    this.write(tarHead(name, bytes.length));
    this.write(bytes);
    this.write(Buffer.alloc(tarPadding(bytes.length)));
  }

  write(bytes: Buffer): void {
    for (let from = 0; from < bytes.length; ) {
      if (this.#length === this.#held.length) this.#flush();
      const length = bytes.copy(this.#held, this.#length, from);
      this.#length += length;
      from += length;
    }
  }

  end(): { readonly bytes: number; readonly sha256: ContentHash } {
    this.#flush();
    return { bytes: this.#bytes, sha256: `sha256:${this.#hash.digest('hex')}` };
  }

  #flush(): void {
    const bytes = this.#held.subarray(0, this.#length);
    this.#hash.update(bytes);
    for (let from = 0; from < bytes.length; ) from += writeSync(this.#fd, bytes, from);
    this.#bytes += bytes.length;
    this.#length = 0;
  }
}

/** Renames a finished file without overwriting another one. */
function appear(temporary: string, file: string): void {
  try {
    linkSync(temporary, file);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw alreadyThere(file);
    // Some file systems do not support hard links.
    if (existsSync(file)) throw alreadyThere(file);
    renameSync(temporary, file);
  }
}

export function alreadyThere(file: string): Fault {
  return new Fault('exists', `${printable(path.basename(file))} already exists. Proctor does not overwrite it.`);
}

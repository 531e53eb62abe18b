import { createHash } from 'node:crypto';
import { closeSync, fstatSync } from 'node:fs';
import { readChunk } from '../../base/chunk.ts';
import { bytesHash, type ContentHash } from '../../base/hash.ts';
import { readJson } from '../../base/json.ts';
import { nameKey, unsafePath } from '../../base/path.ts';
import { TAR_FIELDS, TAR_PATH_BYTES_MAX } from '../../base/tar.ts';
import { readTar, type TarEntry, type TarFault } from '../../base/tar-reader.ts';
import { pack as contract, type PackDocument } from '../../contracts/pack/index.ts';
import { openSeal, seal, type SealStatement } from '../../contracts/seal/index.ts';
import { SEAL } from '../run-folder/finish.ts';
import { FOLDER, PACK } from './pack-layout.ts';
import { soundDocument } from '../document.ts';

/** An open pack. Its headers have been read, its files have not. */
export interface PackFile {
  readonly fd: number;
  /** In the order of the archive. */
  readonly entries: ReadonlyMap<string, TarEntry>;
  readonly faults: readonly PackFault[];
  /** Reading stopped early, so files that seem missing may exist. */
  readonly isCut: boolean;
  close(): void;
}

export interface PackFault {
  readonly fault: TarFault['fault'] | 'path';
  readonly path: string;
  readonly what: string;
}

/** Reads a pack's headers. Closing the pack closes `fd`, and so does a failure. */
export function packFile(fd: number): PackFile {
  try {
    return { fd, ...headersIn(fd), close: () => closeSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function headersIn(fd: number): Pick<PackFile, 'entries' | 'faults' | 'isCut'> {
  const entries = new Map<string, TarEntry>();
  const faults: PackFault[] = [];
  const names = new Names();
  let isCut = false;
  const blame = (found: PackFault): void => {
    if (faults.length < FAULTS_MAX) faults.push(found);
  };
  let count = 0;
  for (const piece of readTar(fd, fstatSync(fd).size)) {
    const { path } = piece;
    if (++count > PIECES_MAX) {
      blame({ fault: 'form', path: '', what: `contains more than ${PIECES_MAX.toLocaleString('en-US')} entries` });
      isCut = true;
      break;
    }
    if ('fault' in piece) {
      blame(piece);
      isCut ||= piece.isLast === true;
      continue;
    }
    const unsafe = names.faultIn(path);
    if (unsafe) blame({ path, ...unsafe });
    else entries.set(path, piece);
    if (!names.isFull) continue;
    blame({ fault: 'form', path, what: `exceeds the limit of ${NAMES_MAX.toLocaleString('en-US')} files and folders` });
    isCut = true;
    break;
  }
  return { entries, faults, isCut };
}

/** Checks the names of entries, one after another. */
class Names {
  /**
   * Maps folder number and normalised name to the number of that folder, or to 'file'. Storing whole paths would
   * repeat every parent folder.
   */
  readonly #known = new Map<string, number | 'file'>();
  #previous = '';

  get isFull(): boolean {
    return this.#known.size > NAMES_MAX;
  }

  faultIn(path: string): Pick<PackFault, 'fault' | 'what'> | undefined {
    const unsafe = unsafePath(path) ?? (Buffer.byteLength(path) > TAR_PATH_BYTES_MAX ? 'is too long' : undefined);
    if (unsafe) return { fault: 'path', what: unsafe };
    const segments = path.split('/');
    if (segments.length > DEPTH_MAX) return { fault: 'path', what: `has more than ${DEPTH_MAX} path segments` };
    if (segments.includes('.')) return { fault: 'path', what: 'is not in its shortest form' };
    if (path <= this.#previous) {
      return { fault: 'form', what: path === this.#previous ? 'occurs twice' : 'is not in sorted order' };
    }
    this.#previous = path;
    let folder = 0;
    for (const [index, segment] of segments.entries()) {
      const key = `${folder}/${nameKey(segment)}`;
      const isFile = index === segments.length - 1;
      const known = this.#known.get(key);
      if (known === 'file' || (known !== undefined && isFile)) {
        return { fault: 'path', what: 'has the same name as another entry on some systems' };
      }
      folder = known ?? this.#known.size + 1;
      if (known === undefined) this.#known.set(key, isFile ? 'file' : folder);
    }
    return undefined;
  }
}

/** The limit for files in a run folder. */
const PIECES_MAX = 500_000;

/** Folders have no entries, but use memory. No run has more folders than files. */
const NAMES_MAX = 2 * PIECES_MAX;

/** The depth limit of a run folder, plus `folder/` itself. */
const DEPTH_MAX = 34;

const FAULTS_MAX = 1_000;

/** Yields the bytes of an entry. The chunks share one buffer. */
export function* packedBytes({ fd }: PackFile, { at, size }: TarEntry): Generator<Buffer> {
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size));
  for (let done = 0; done < size; ) {
    const length = readChunk(fd, chunk.subarray(0, Math.min(chunk.length, size - done)), at + done);
    // The file was truncated after its headers were read.
    if (length === 0) return;
    yield chunk.subarray(0, length);
    done += length;
  }
}

export function entryHash(pack: PackFile, entry: TarEntry): ContentHash {
  const hash = createHash('sha256');
  for (const piece of packedBytes(pack, entry)) hash.update(piece);
  return `sha256:${hash.digest('hex')}`;
}

/** All bytes of an entry; undefined if it is missing or larger than `bytesMax`. */
export function entryBytes(pack: PackFile, name: string, bytesMax: number): Buffer | undefined {
  const entry = pack.entries.get(name);
  if (!entry || entry.size > bytesMax) return undefined;
  const bytes = Buffer.allocUnsafe(entry.size);
  let length = 0;
  for (const piece of packedBytes(pack, entry)) length += piece.copy(bytes, length);
  return bytes.subarray(0, length);
}

export interface OpenedSeal {
  readonly statement: SealStatement;
  /** The hash of the seal's bytes. */
  readonly sha256: ContentHash;
}

export function sealIn(pack: PackFile): OpenedSeal | undefined {
  return openedSeal(entryBytes(pack, FOLDER + SEAL, seal.bytesMax));
}

export function openedSeal(bytes: Buffer | undefined): OpenedSeal | undefined {
  const reading = bytes && readJson(bytes, { bytesMax: seal.bytesMax });
  const opened = reading?.ok ? openSeal(reading.value) : undefined;
  return bytes && opened?.ok ? { statement: opened.statement, sha256: bytesHash(bytes) } : undefined;
}

/** Reads pack.json; undefined if it violates its contract. */
export function packedDocument(pack: PackFile): PackDocument | undefined {
  const bytes = entryBytes(pack, PACK, contract.bytesMax);
  return bytes && (soundDocument(bytes, contract) as PackDocument | undefined);
}

const CHUNK_BYTES = 256 * 1024;

/** Whether a file starts like a tar archive. */
export function looksPacked(fd: number): boolean {
  const [from] = TAR_FIELDS.magic;
  const magic = Buffer.alloc(5);
  return readChunk(fd, magic, from) === magic.length && magic.toString('latin1') === 'ustar';
}

import {
  closeSync,
  constants,
  createReadStream,
  fdatasync,
  opendirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createHash, type Hash } from 'node:crypto';
import path from 'node:path';
import { promisify } from 'node:util';
import { instantText } from '../../base/clock.ts';
import { Fault, fullDisk } from '../../base/fault.ts';
import { openHash } from '../../base/file-hash.ts';
import { bytesHash } from '../../base/hash.ts';
import { makeFolders, OWN_FILE } from '../../base/private.ts';
import { sealPieces } from '../../contracts/seal/envelope.ts';
import type { Signer } from '../../contracts/seal/signature.ts';
import type { RunKind, SealedFile } from '../../contracts/seal/statement.ts';
import type { Document } from '../document.ts';
import { JOURNAL } from './journal.ts';
import type { LedgerEntry, Ledger } from '../ledger/ledger.ts';
import { intentIn } from '../ledger/ledger-intent.ts';
import { openOwn } from './own-file.ts';
import { mergeSorted, type StoredFiles, storedFiles } from './sealed-files.ts';

export interface Sealing {
  /** Signs the seal. Required, so that no caller leaves a seal unsigned by mistake. */
  readonly signer: Signer | undefined;
  /** Records the sealed run; undefined if the run is part of another run. */
  readonly ledger?: Ledger | undefined;
}

export function sealingOf({ signer, ledger }: Sealing): Sealing {
  return { signer, ledger };
}

export interface Finished extends Sealing {
  readonly runId: string;
  readonly kind: RunKind;
  /** The side of a suite run. */
  readonly version?: LedgerEntry['version'];
  readonly documents: readonly Document[];
  /** Files that already exist and were hashed when they were stored. */
  readonly stored: StoredFiles;
  /** Files that the documents replace. */
  readonly passing: readonly string[];
  readonly sealedAtMs: number;
  /** Resolves once the stored files are on disk. */
  readonly synced?: Promise<void>;
}

/**
 * Writes the documents of a run durably, then the seal over every file in the folder. All documents are on disk under
 * temporary names before the first one appears, and all have appeared before the seal does. The ledger comes last:
 * until then the journal still exists, so a folder without a ledger line can be explained.
 */
export async function finish(folder: string, run: Finished): Promise<void> {
  try {
    const folders = foldersOf(run.documents).map(below => path.join(folder, below));
    for (const below of folders) makeFolders(below);
    // A half-written seal proves nothing.
    rmSync(path.join(folder, `${SEAL}${UNFINISHED}`), { force: true });
    const documents = new Map(run.documents.map(([file, bytes, sha256]) => [file, sealed(file, bytes, sha256)]));
    const passing = new Set([SEAL, JOURNAL, ...run.passing]);
    /** A half-written document is overwritten. */
    const isBegun = (file: string): boolean =>
      file.endsWith(UNFINISHED) && documents.has(file.slice(0, -UNFINISHED.length));
    const isOther = (file: string): boolean =>
      !documents.has(file) && !passing.has(file) && !run.stored.has(file) && !isBegun(file);
    const others = storedFiles([...documents.values(), ...(await otherFiles(folder, isOther))]);
    const files = mergeSorted(others.sorted(), run.stored.sorted());
    const sealedAt = instantText(run.sealedAtMs);
    const seal = sealPieces({ runId: run.runId, kind: run.kind, sealedAt, files }, run.signer);
    const sealHash = createHash('sha256');
    await Promise.all([
      ...run.documents.map(([file, bytes]) => writeUnfinished(path.join(folder, file), [bytes])),
      writeUnfinished(path.join(folder, SEAL), hashing(seal, sealHash)),
    ]);
    await run.synced;
    for (const [file] of run.documents) appear(path.join(folder, file));
    for (const file of run.passing) rmSync(path.join(folder, file), { force: true });
    await Promise.all(folders.map(syncFolder));
    appear(path.join(folder, SEAL));
    await syncFolder(path.join(folder, 'evidence'));
    await run.ledger?.enter({
      run_id: run.runId,
      kind: run.kind,
      sealed_at: sealedAt,
      seal_sha256: `sha256:${sealHash.digest('hex')}`,
      intent: run.kind === 'intent' ? (intentIn(folder) ?? null) : null,
      ...(run.version && { version: run.version }),
    });
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('write_failed', `The run's evidence could not be written${fullDisk(cause)}.`, { cause });
  }
}

export const SEAL = 'evidence/seal.json';

/** Outer folders come before inner ones. */
function foldersOf(documents: readonly Document[]): string[] {
  return [...new Set(documents.map(([file]) => path.dirname(file)))].sort();
}

function sealed(file: string, bytes: string | Uint8Array, sha256: string = bytesHash(bytes)): SealedFile {
  return { path: file, sha256, bytes: Buffer.byteLength(bytes) };
}

/** Hashes the chunks and passes them on. */
function* hashing(pieces: Iterable<string | Uint8Array>, hash: Hash): Generator<string | Uint8Array> {
  for (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
}

const UNFINISHED = '.tmp';

/**
 * Writes synchronously, because documents are small. Syncs in parallel, because the disk commits all of them at once.
 */
async function writeUnfinished(file: string, pieces: Iterable<string | Uint8Array>): Promise<void> {
  const fd = openSync(`${file}${UNFINISHED}`, NEW_FILE, OWN_FILE);
  try {
    for (const bytes of pieces) writeFileSync(fd, bytes);
    await sync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Overwrites a leftover, but never through a link. */
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;

function appear(file: string): void {
  renameSync(`${file}${UNFINISHED}`, file);
}

const sync = promisify(fdatasync);

async function syncFolder(folder: string): Promise<void> {
  const fd = openSync(folder, 'r');
  try {
    await sync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Files that have not been hashed yet. */
async function otherFiles(folder: string, isOther: (file: string) => boolean): Promise<SealedFile[]> {
  const files: SealedFile[] = [];
  for (const file of filesIn(folder, '')) if (isOther(file)) files.push(await hashed(folder, file));
  return files;
}

function* filesIn(folder: string, below: string): Generator<string> {
  const handle = opendirSync(path.join(folder, below));
  try {
    for (let entry = handle.readSync(); entry; entry = handle.readSync()) {
      const file = below === '' ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory()) yield* filesIn(folder, file);
      else yield file;
    }
  } finally {
    handle.closeSync();
  }
}

async function hashed(folder: string, file: string): Promise<SealedFile> {
  const { fd, stat } = openOwn(folder, file);
  try {
    // Most files are small, and creating a stream takes longer than reading them.
    if (stat.size <= SMALL_BYTES) return { path: file, sha256: openHash(fd), bytes: stat.size };
    const hash = createHash('sha256');
    for await (const chunk of createReadStream('', { fd, autoClose: false })) hash.update(chunk as Buffer);
    return { path: file, sha256: `sha256:${hash.digest('hex')}`, bytes: stat.size };
  } finally {
    closeSync(fd);
  }
}

const SMALL_BYTES = 1024 * 1024;

import { createHash } from 'node:crypto';
import { closeSync, existsSync, lstatSync, mkdtempSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { tornFile } from '../base/atomic.ts';
import { clip } from '../base/clip.ts';
import { Fault } from '../base/fault.ts';
import { fileHash } from '../base/file-hash.ts';
import { makeFolders, OWN_FILE } from '../base/private.ts';
import type { Contract } from '../contracts/contract.ts';
import type { RunKind } from '../contracts/seal/statement.ts';
import { soundDocument } from '../evidence/document.ts';
import { digestsIn, writeFolder } from '../evidence/pack/unpack.ts';
import { entryBytes, type PackFile, packFile, sealIn } from '../evidence/pack/pack-file.ts';
import { FOLDER, LATER } from '../evidence/pack/pack-layout.ts';
import { SEAL } from '../evidence/run-folder/finish.ts';
import { stagePath } from '../execute/host/workspace.ts';
import type { AskedAttempt, SentRun, TakenRun, TakeRun } from '../run/suite/reported-attempt.ts';
import type { BlobStore } from '../store/store.ts';
import { verifyOpenPack } from '../verify/pack.ts';
import { fileChange, openForReading } from '../verify/source.ts';
import { firstViolation } from './pack.ts';
import { isNoted, noteTaken } from './taken-note.ts';

/** A kind of run that workers send, and how its answer is read. */
export interface SentKind {
  readonly kind: RunKind;
  readonly idForm: RegExp;
  readonly filesMax: number;
  /** Reads a document of a verified pack; undefined if it is missing. */
  readonly fault: (file: ReadPacked, asked: AskedAttempt) => string | undefined;
  /** Reads the answer from the unpacked folder. */
  readonly answer: (folder: string, asked: AskedAttempt) => Promise<TakenRun | string>;
}

export type ReadPacked = (file: string, bytesMax: number) => Buffer | undefined;

/** A document of a pack; undefined if it is missing or breaks its contract. */
export function soundPacked(read: ReadPacked, file: string, contract: Contract): unknown {
  const bytes = read(file, contract.bytesMax);
  return bytes && soundDocument(bytes, contract);
}

/**
 * Takes runs of workers over. A pack is verified in place, against the key of the worker, before a byte of it counts. Then
 * it must be the run that was asked for, and only then is it written, next to the runs of local attempts.
 */
export function runTaker(sentKind: SentKind, home: string, store: BlobStore): TakeRun {
  return async (sent, asked, faultOf) => {
    if (!sentKind.idForm.test(sent.id)) return 'the id of its run is not valid';
    if (sent.pack.bytes > PACK_BYTES_MAX) return 'its run is larger than the limit';
    const folder = path.join(home, 'runs', sentKind.kind, sent.id);
    const known = isTaken(home, folder, sent, asked.key);
    if (typeof known === 'string') return known;
    if (!known) {
      const trouble = await fetched(sent, store, file => unpacked(file, folder, sentKind, { sent, asked, home }));
      if (trouble !== undefined) return trouble;
    }
    const taken = await sentKind.answer(folder, asked);
    const fault = typeof taken === 'string' ? taken : faultOf(taken);
    if (fault === undefined) return taken;
    rmSync(folder, { recursive: true, force: true });
    return fault;
  };
}

/** The largest blob that every store supports. */
export const PACK_BYTES_MAX = 64 * 1024 * 1024;

/** Writes the pack to a temporary file for as long as `use` takes. */
async function fetched(
  { pack: { sha256, bytes } }: SentRun,
  store: BlobStore,
  use: (file: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  const pieces = await store.get(sha256);
  if (!pieces) return 'its run is not in the store';
  const folder = mkdtempSync(stagePath('pack-'));
  try {
    const file = path.join(folder, 'run.tar');
    const isWhole = await written(file, pieces, sha256, bytes);
    return isWhole ? await use(file) : 'its run has other bytes than the worker signed';
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether the bytes are those that the worker signed. Stops at the first byte too many. */
async function written(
  file: string,
  pieces: AsyncIterable<Uint8Array>,
  sha256: string,
  size: number,
): Promise<boolean> {
  const fd = openSync(file, 'wx', OWN_FILE);
  const hash = createHash('sha256');
  let length = 0;
  try {
    for await (const piece of pieces) {
      length += piece.length;
      if (length > size) return false;
      hash.update(piece);
      for (let from = 0; from < piece.length; ) from += writeSync(fd, piece, from);
    }
  } catch (error) {
    if (error instanceof Fault && error.code === 'blob_mismatch') return false;
    throw error;
  } finally {
    closeSync(fd);
  }
  return length === size && `sha256:${hash.digest('hex')}` === sha256;
}

interface Taking {
  readonly sent: SentRun;
  readonly asked: AskedAttempt;
  readonly home: string;
}

/** Returns the reason if the pack cannot be trusted. */
async function unpacked(
  file: string,
  folder: string,
  kind: SentKind,
  { sent, asked, home }: Taking,
): Promise<string | undefined> {
  const opened = openForReading(file);
  if (!opened.ok) return 'its run cannot be read';
  const pack = packFile(opened.fd);
  try {
    const trouble = (await faultIn(pack, kind, sent)) ?? kind.fault(readerOf(pack), asked);
    if (trouble !== undefined) return trouble;
    const { digests } = digestsIn(pack);
    if (fileChange(opened)) return 'its run changed while it was read';
    if (!noteTaken(home, sent, asked.key)) return ALREADY_USED;
    makeFolders(path.dirname(folder));
    if (!lstatSync(path.dirname(folder)).isDirectory()) throw new Fault('folder_failed', LINKED);
    removeParts(folder);
    await writeFolder(pack, folder, digests);
    return undefined;
  } finally {
    pack.close();
  }
}

/** A conductor that was killed may have left a part of this folder. Only the conductor of this run writes it. */
function removeParts(folder: string): void {
  const within = path.dirname(folder);
  for (const name of readdirSync(within))
    if (tornFile(name) === path.basename(folder)) rmSync(path.join(within, name), { recursive: true, force: true });
}

const LINKED = 'The folder of attempts is a link. Proctor does not write runs through links.';

async function faultIn(pack: PackFile, { kind, filesMax }: SentKind, sent: SentRun): Promise<string | undefined> {
  if (pack.entries.size > filesMax) return 'its run has more files than its limits allow';
  // Only this machine judges the run, or lets files of it expire.
  const added = LATER.find(name => pack.entries.has(FOLDER + name));
  if (added !== undefined) return `its run has ${added}, which a new run does not have`;
  const options = { key: sent.publicKey, requireSignature: true };
  const violation = await firstViolation(verifyOpenPack('its run', pack, options));
  if (violation !== undefined) return `its run does not verify: ${clip(violation, VIOLATION_BYTES_MAX).text}`;
  const seal = sealIn(pack);
  const { run_id, kind: sealedKind } = seal?.statement.predicate ?? {};
  if (seal?.sha256 !== sent.sealSha256 || run_id !== sent.id) return 'its run is another one than the worker signed';
  return sealedKind === kind ? undefined : `its run is not of the kind ${kind}`;
}

const VIOLATION_BYTES_MAX = 300;

function readerOf(pack: PackFile): ReadPacked {
  return (file, bytesMax) => entryBytes(pack, FOLDER + file, bytesMax);
}

/** Whether this attempt has already taken this run over; a sentence if the id belongs to something else. */
function isTaken(home: string, folder: string, sent: SentRun, key: string): boolean | string {
  if (!existsSync(folder)) return false;
  const isSame = isNoted(home, sent, key) && fileHash(path.join(folder, SEAL)) === sent.sealSha256;
  return isSame || ALREADY_USED;
}

const ALREADY_USED = 'the id of its run is already in use';

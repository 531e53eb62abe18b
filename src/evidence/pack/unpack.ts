import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as others } from 'node:timers/promises';
import { syncFolder, temporaryBeside } from '../../base/atomic.ts';
import { codeOf, Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { OWN_FILE, OWN_FOLDER } from '../../base/private.ts';
import type { TarEntry } from '../../base/tar-reader.ts';
import { alreadyThere } from './pack.ts';
import { SEAL } from '../run-folder/finish.ts';
import { packedBytes, packedDocument, type PackFile, sealIn } from './pack-file.ts';
import { FOLDER } from './pack-layout.ts';

/** The files that a verified pack must contain. */
export interface Digests {
  readonly runId: string;
  readonly kind: string;
  /** `sha256:` and hexadecimal digits, by path in the run folder. */
  readonly digests: ReadonlyMap<string, string>;
  /** The number of sealed files that the pack leaves out. */
  readonly leftOut: number;
}

/** Reads the digests from a verified pack. `writeFolder` detects files that changed since. */
export function digestsIn(pack: PackFile): Digests {
  const { statement, sha256 } = sealIn(pack) ?? {};
  const own = packedDocument(pack);
  if (!statement || sha256 === undefined || !own) throw packChanged();
  const digests = new Map<string, string>([[SEAL, sha256]]);
  for (const { name, digest } of statement.subject) {
    if (pack.entries.has(FOLDER + name)) digests.set(name, `sha256:${digest.sha256}`);
  }
  for (const { path: name, sha256 } of own.unsealed) {
    if (name.startsWith(FOLDER)) digests.set(name.slice(FOLDER.length), sha256);
  }
  const { run_id: runId, kind } = statement.predicate;
  return { runId, kind, digests, leftOut: own.left_out.length };
}

/**
 * Extracts a pack's run folder, completely or not at all. Every file must match its digest, because the pack may have
 * changed since it was verified.
 */
export async function writeFolder(
  pack: PackFile,
  target: string,
  digests: ReadonlyMap<string, string>,
  signal?: AbortSignal,
): Promise<number> {
  if (existsSync(target)) throw alreadyThere(target);
  const temporary = temporaryBeside(target);
  try {
    mkdirSync(temporary, { mode: OWN_FOLDER });
    const folder = path.join(temporary, 'folder');
    mkdirSync(folder, { mode: OWN_FOLDER });
    const made = new Set(['.']);
    let count = 0;
    for (const [name, entry] of pack.entries) {
      if (!name.startsWith(FOLDER)) continue;
      const file = name.slice(FOLDER.length);
      makeFolders(folder, path.posix.dirname(file), made);
      if (digests.get(file) !== writeEntry(pack, entry, path.join(folder, file))) {
        throw packChanged();
      }
      if (++count % 256 === 0) await others();
      if (signal?.aborted) throw new Fault('interrupted', 'Unpacking was interrupted. Nothing was written.');
    }
    if (count !== digests.size) throw packChanged();
    if (existsSync(target)) throw alreadyThere(target);
    renameSync(folder, target);
    syncFolder(path.dirname(target));
    return count;
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    if (codeOf(cause) === '') throw cause;
    throw new Fault('write_failed', `The folder ${printable(path.basename(target))} could not be written.`, { cause });
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

export function packChanged(): Fault {
  return new Fault('changed', 'The pack was changed during unpacking. Nothing was written.');
}

function makeFolders(root: string, folder: string, made: Set<string>): void {
  if (made.has(folder)) return;
  makeFolders(root, path.posix.dirname(folder), made);
  mkdirSync(path.join(root, folder), { mode: OWN_FOLDER });
  made.add(folder);
}

function writeEntry(pack: PackFile, entry: TarEntry, file: string): string {
  const fd = openSync(file, 'wx', OWN_FILE);
  try {
    const hash = createHash('sha256');
    for (const piece of packedBytes(pack, entry)) {
      hash.update(piece);
      for (let from = 0; from < piece.length; ) from += writeSync(fd, piece, from);
    }
    return `sha256:${hash.digest('hex')}`;
  } finally {
    closeSync(fd);
  }
}

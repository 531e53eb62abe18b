import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { readChunk } from '../base/chunk.ts';
import { codeOf } from '../base/fault.ts';
import { openHash } from '../base/file-hash.ts';
import { tooLarge } from '../base/json.ts';
import { openBelow } from '../base/regular.ts';

export type DocumentSource = { readonly ok: true; readonly bytes: Buffer } | Failure;

export interface Failure {
  readonly ok: false;
  readonly outcome: 'unreadable' | 'refused';
  readonly code: string;
  readonly message: string;
}

/** Reads an open file of at most `bytesMax` bytes, and closes it. */
export function readWhole(opened: OpenFile | Failure, bytesMax: number): DocumentSource {
  if (!opened.ok) return opened;
  const { fd, stat } = opened;
  try {
    if (stat.size > bytesMax) return { ok: false, outcome: 'refused', code: 'too_large', message: tooLarge(bytesMax) };
    const bytes = readUpTo(fd, stat.size + 1, stat.size + 1);
    if (bytes.length !== stat.size) return FILE_CHANGED;
    const change = fileChange(opened);
    if (change) return change;
    return { ok: true, bytes };
  } catch (error) {
    return unreadableBecause(error);
  } finally {
    closeSync(fd);
  }
}

/** Hashes an open file of any size, and closes it; undefined if it cannot be read. */
export function hashFile(opened: OpenFile | Failure): string | undefined {
  if (!opened.ok) return undefined;
  try {
    return openHash(opened.fd);
  } catch {
    return undefined;
  } finally {
    closeSync(opened.fd);
  }
}

/** Reads standard input to its end, or to the first byte over the limit. */
export function readStandardInput(bytesMax: number): DocumentSource {
  try {
    const bytes = readUpTo(0, bytesMax + 1);
    if (bytes.length > bytesMax)
      return { ok: false, outcome: 'refused', code: 'too_large', message: tooLarge(bytesMax) };
    return { ok: true, bytes };
  } catch (error) {
    return unreadableBecause(error);
  }
}

export interface OpenFile {
  readonly ok: true;
  readonly fd: number;
  readonly stat: Stats;
}

/**
 * Opens a regular file in a folder without following any link, because a link may have been put there since the folder
 * was listed. The caller closes it.
 */
export function openInside(folder: string, file: string): OpenFile | Failure {
  try {
    // Check the type first, because opening a device can have side effects.
    const before = lstatSync(path.join(folder, file));
    if (!before.isFile()) return notRegular(before);
    const { fd, stat } = openBelow(folder, file);
    if (stat.isFile()) return { ok: true, fd, stat };
    closeSync(fd);
    return notRegular(stat);
  } catch (error) {
    return ['ELOOP', 'ENOTDIR'].includes(codeOf(error)) ? exchanged : unreadableBecause(error);
  }
}

const exchanged: Failure = {
  ok: false,
  outcome: 'unreadable',
  code: 'not_regular',
  message: 'The file, or a folder above it, was replaced with a link.',
};

/** Opens a regular file without blocking. Follows links. The caller closes it. */
export function openForReading(file: string): OpenFile | Failure {
  let fd: number | undefined;
  try {
    // Check the type before opening, because opening a device can have side effects, and again afterwards, in case the
    // file was replaced.
    const before = statSync(file);
    if (!before.isFile()) return notRegular(before);
    fd = openSync(file, constants.O_RDONLY | NONBLOCK);
    const stat = fstatSync(fd);
    if (stat.isFile()) return { ok: true, fd, stat };
    closeSync(fd);
    return notRegular(stat);
  } catch (error) {
    if (fd !== undefined) closeSync(fd);
    return unreadableBecause(error);
  }
}

/** Reports whether an open file has changed since it was opened. `mayGrow` allows appended bytes. */
export function fileChange(
  { fd, stat }: { readonly fd: number; readonly stat: Stats },
  mayGrow = false,
): Failure | undefined {
  const now = fstatSync(fd);
  if (mayGrow && now.size > stat.size) return undefined;
  return stat.size === now.size && stat.mtimeMs === now.mtimeMs ? undefined : FILE_CHANGED;
}

export const FILE_CHANGED: Failure = {
  ok: false,
  outcome: 'unreadable',
  code: 'changed',
  message: 'The file changed while it was read.',
};

/** Windows does not have this flag. */
const NONBLOCK = constants.O_NONBLOCK ?? 0;

const CHUNK_BYTES = 64 * 1024;

/** The buffer doubles as needed, so a pipe that delivers single bytes still takes linear time. */
function readUpTo(fd: number, bytesMax: number, expected = CHUNK_BYTES): Buffer {
  let buffer = Buffer.allocUnsafe(Math.min(expected, bytesMax));
  let total = 0;
  while (total < bytesMax) {
    if (total === buffer.length) {
      const larger = Buffer.allocUnsafe(Math.min(2 * buffer.length, bytesMax));
      buffer.copy(larger);
      buffer = larger;
    }
    const length = readChunk(fd, buffer.subarray(total));
    if (length === 0) break;
    total += length;
  }
  return buffer.subarray(0, total);
}

/** Describes a system error. Rethrows anything else, because it is a bug. */
export function unreadableBecause(error: unknown): Failure {
  const code = codeOf(error);
  if (code === '') throw error;
  const message = MESSAGES[code] ?? 'The file could not be read.';
  return { ok: false, outcome: 'unreadable', code: code.toLowerCase(), message };
}

const MESSAGES: Record<string, string> = {
  ENOENT: 'The file or folder does not exist.',
  ENOTDIR: 'The file or folder does not exist.',
  EACCES: 'Permission denied.',
  EPERM: 'Permission denied.',
  EISDIR: 'This is a folder.',
  ELOOP: 'Too many levels of symbolic links.',
  ENAMETOOLONG: 'The file name is too long.',
  EBADF: 'Standard input is closed.',
  ERR_INVALID_ARG_VALUE: 'The file name contains an invalid character.',
};

function notRegular(stat: Stats): Failure {
  const kind = kindOfEntry(stat);
  return { ok: false, outcome: 'unreadable', code: 'not_regular', message: `This is ${kind}, not a regular file.` };
}

export function kindOfEntry(entry: Pick<Stats, EntryTest>): string {
  return KINDS.find(([test]) => entry[test]())?.[1] ?? 'something unknown';
}

type EntryTest =
  | 'isDirectory'
  | 'isSymbolicLink'
  | 'isFIFO'
  | 'isSocket'
  | 'isCharacterDevice'
  | 'isBlockDevice'
  | 'isFile';

const KINDS: readonly [EntryTest, string][] = [
  ['isFile', 'a regular file'],
  ['isDirectory', 'a folder'],
  ['isSymbolicLink', 'a link'],
  ['isFIFO', 'a FIFO'],
  ['isSocket', 'a socket'],
  ['isCharacterDevice', 'a device'],
  ['isBlockDevice', 'a device'],
];

import { createHash } from 'node:crypto';
import { closeSync, openSync, opendirSync, writeSync } from 'node:fs';
import path from 'node:path';
import { readChunk } from '../base/chunk.ts';
import { codeOf, Fault, fullDisk } from '../base/fault.ts';
import { isDeviceName, nameKey, unsafePath } from '../base/path.ts';
import { isPrintable, printable } from '../base/printable.ts';
import { makeFolders } from '../base/private.ts';
import { openBelow } from '../base/regular.ts';

/** A file of a published version. */
export interface PublishedFile {
  /** Relative to the folder, with `/` as the separator. */
  readonly path: string;
  /** Only whether it is executable counts. */
  readonly mode: '644' | '755';
  readonly bytes: number;
  readonly sha256: string;
}

const FOLDER_FILES_MAX = 1_000;
export const FOLDER_BYTES_MAX = 64 * 1024 ** 2;
const DEPTH_MAX = 16;
const PATH_BYTES_MAX = 500;

/** Copies a folder that someone wants to publish. Accepts only regular files with plain names, within limits. */
export function copyPublished(from: string, to: string): PublishedFile[] {
  const room = { bytes: FOLDER_BYTES_MAX };
  return pathsBelow(from).map(file => copyFile(from, file, to, room));
}

/** The paths of all files below a folder, sorted. Throws for a link, a pipe, an unsafe name, or too many files. */
export function pathsBelow(folder: string): string[] {
  const files: string[] = [];
  const names = new Set<string>();
  const pending = [''];
  let count = 0;
  for (let below = pending.pop(); below !== undefined; below = pending.pop()) {
    const held = opened(folder, below);
    try {
      for (let entry = held.readSync(); entry; entry = held.readSync()) {
        const file = below === '' ? entry.name : `${below}/${entry.name}`;
        if (++count > 2 * FOLDER_FILES_MAX || files.length >= FOLDER_FILES_MAX) throw tooMany();
        const wrong = unfit(file, names);
        if (wrong) throw new Fault('unfit_folder', `The folder cannot be published: ${printable(file)} ${wrong}.`);
        names.add(nameKey(file));
        if (entry.isDirectory()) pending.push(file);
        else if (entry.isFile()) files.push(file);
        else throw notRegular(file);
      }
    } finally {
      held.closeSync();
    }
  }
  return files.sort();
}

function opened(folder: string, below: string): ReturnType<typeof opendirSync> {
  try {
    return opendirSync(path.join(folder, below));
  } catch (cause) {
    const isMissing = below === '' && ['ENOENT', 'ENOTDIR'].includes(codeOf(cause));
    throw new Fault('unfit_folder', isMissing ? MISSING : UNREADABLE, { cause });
  }
}

const MISSING = 'The folder cannot be published: there is no such folder. Name the folder that contains script.yaml.';
const UNREADABLE = 'The folder cannot be published: it, or a folder in it, cannot be read.';

/** Why a path cannot be stored, as text that follows it. */
function unfit(file: string, names: ReadonlySet<string>): string | undefined {
  const name = file.slice(file.lastIndexOf('/') + 1);
  if (file.includes('\ufffd')) return 'has a name that is not UTF-8';
  if (!isPrintable(file)) return 'has a name with an invisible or bidirectional control character';
  if (Buffer.byteLength(file) > PATH_BYTES_MAX) return `has a path longer than ${PATH_BYTES_MAX} bytes`;
  if (file.split('/').length > DEPTH_MAX) return `is deeper than ${DEPTH_MAX} folders`;
  if (isDeviceName(name)) return 'has a name that Windows reserves';
  if (names.has(nameKey(file))) return 'has the same name as another file, ignoring case';
  return unsafePath(file) ?? (name.includes('\\') ? 'has a backslash in its name' : undefined);
}

function copyFile(from: string, file: string, to: string, room: { bytes: number }): PublishedFile {
  const { fd, stat } = openPublished(from, file);
  try {
    const mode = (stat.mode & 0o100) === 0 ? '644' : '755';
    const target = path.join(to, file);
    makeFolders(path.dirname(target));
    const copy = openSync(target, 'wx', mode === '755' ? 0o700 : 0o600);
    try {
      return { path: file, mode, ...copied(fd, copy, room) };
    } finally {
      closeSync(copy);
    }
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('publish_failed', `The copy of ${printable(file)} could not be written${fullDisk(cause)}.`, {
      cause,
    });
  } finally {
    closeSync(fd);
  }
}

/** Opens a regular file of a folder to publish, without following links. */
export function openPublished(from: string, file: string): ReturnType<typeof openBelow> {
  try {
    const held = openBelow(from, file);
    if (held.stat.isFile()) return held;
    closeSync(held.fd);
  } catch (cause) {
    if (!['ELOOP', 'ENOTDIR', 'ENXIO'].includes(codeOf(cause)))
      throw new Fault('unfit_folder', `The folder cannot be published: ${printable(file)} cannot be read.`, { cause });
  }
  throw notRegular(file);
}

/** Counts what it reads, because a file may grow while it is copied. */
function copied(from: number, to: number, room: { bytes: number }): { bytes: number; sha256: string } {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(64 * 1024);
  let bytes = 0;
  for (let length = readChunk(from, chunk); length > 0; length = readChunk(from, chunk)) {
    bytes += length;
    room.bytes -= length;
    if (room.bytes < 0) throw folderTooLarge();
    const piece = chunk.subarray(0, length);
    hash.update(piece);
    for (let at = 0; at < length; ) at += writeSync(to, piece, at);
  }
  return { bytes, sha256: `sha256:${hash.digest('hex')}` };
}

export function folderTooLarge(): Fault {
  return new Fault('unfit_folder', 'The folder cannot be published: it is larger than 64 MiB.');
}

function tooMany(): Fault {
  return new Fault('unfit_folder', 'The folder cannot be published: it has more than 1,000 files.');
}

function notRegular(file: string): Fault {
  return new Fault(
    'unfit_folder',
    `The folder cannot be published: ${printable(file)} is not a regular file. Replace links with the files themselves.`,
  );
}

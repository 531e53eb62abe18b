import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync, realpathSync } from 'node:fs';
import { setImmediate as others } from 'node:timers/promises';
import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { pathText, placeIn, type TreeEntry, walkTree } from './tree.ts';
import { leadsOut } from './tree-entries.ts';
import { modeOf } from './tree-import.ts';

/** What a mounted folder contained before the run. */
export interface MountDigest {
  readonly sha256: `sha256:${string}`;
  /** Files, folders and symlinks. */
  readonly entries: number;
  readonly bytes: number;
}

/**
 * Hashes everything in a folder: one line per entry, sorted by path, with its git mode, the SHA-256 of its content and
 * its path, ended by a NUL. Refuses what a reader of the evidence could not check: links that leave the folder, special
 * files and unreadable ones.
 */
export async function folderDigest(folder: string, left: { entries: number; bytes: number }): Promise<MountDigest> {
  const lines: string[] = [];
  const top = realpathSync.native(folder);
  let bytes = 0;
  let turn = 0;
  for await (const entry of walkTree(top, { isEntered: () => true, isOurs: false })) {
    bytes += entry.kind === 'file' ? entry.bytes : 0;
    if (lines.length >= left.entries || bytes > left.bytes) throw tooLarge();
    lines.push(`${lineFor(top, entry)} ${entry.path}\0`);
    if (Math.floor(bytes / TURN_BYTES) === turn) continue;
    turn = Math.floor(bytes / TURN_BYTES);
    await others();
  }
  const hash = createHash('sha256');
  for (const line of lines.sort((a, b) => (pathIn(a) < pathIn(b) ? -1 : 1))) hash.update(line, 'latin1');
  return { sha256: `sha256:${hash.digest('hex')}`, entries: lines.length, bytes };
}

function pathIn(line: string): string {
  return line.slice(line.indexOf(' ', MODE_CHARS + 1) + 1);
}

/** For all mounts of a run together. */
export const MOUNT_LIMITS = { entries: 500_000, bytes: 4 * 1024 ** 3 } as const;

const MODE_CHARS = 6;
const TURN_BYTES = 16 * 1024 * 1024;

function tooLarge(): Fault {
  return new Fault(
    'usage',
    `The mounts are too large to hash. Together they may have ${MOUNT_LIMITS.entries.toLocaleString('en-US')} entries and ${MOUNT_LIMITS.bytes / 1024 ** 3} GiB.`,
  );
}

function lineFor(top: string, entry: TreeEntry): string {
  if (entry.kind === 'folder') return '040000 -';
  if (entry.kind === 'link') return `${modeOf(entry)} ${linkHash(top, entry)}`;
  if (entry.kind === 'file') return `${modeOf(entry)} ${fileHashOf(top, entry)}`;
  throw cannotMount(entry, entry.kind === 'unreadable' ? 'is unreadable' : `is a ${entry.kind}`);
}

function linkHash(top: string, entry: TreeEntry): string {
  if (leadsOut(top, entry) || !isRealInside(top, entry))
    throw cannotMount(entry, 'is a symlink that leaves the folder');
  return createHash('sha256')
    .update(readlinkSync(placeIn(top, entry.path), 'buffer'))
    .digest('hex');
}

/** A link may leave through another link. A link without a target goes nowhere. */
function isRealInside(top: string, { path }: TreeEntry): boolean {
  try {
    // Not `realpathSync`, which shortens `link/..` in a target without looking at the link.
    const real = realpathSync.native(placeIn(top, path), 'buffer').toString('latin1');
    return `${real}/`.startsWith(`${Buffer.from(top).toString('latin1')}/`);
  } catch {
    return true;
  }
}

/** Never follows a symlink, waits for a FIFO or changes a permission: the folder belongs to the user. */
function fileHashOf(top: string, entry: TreeEntry): string {
  const hash = createHash('sha256');
  let fd: number | undefined;
  try {
    fd = openSync(placeIn(top, entry.path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (!fstatSync(fd).isFile()) throw new Error('not a file');
    let read = 0;
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, entry.bytes + 1));
    for (let length = readSync(fd, chunk); length > 0 && read <= entry.bytes; length = readSync(fd, chunk)) {
      hash.update(chunk.subarray(0, length));
      read += length;
    }
    if (read !== entry.bytes) throw new Error('changed');
  } catch {
    throw cannotMount(entry, 'is unreadable or changed while Proctor was reading it');
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
  return hash.digest('hex');
}

const CHUNK_BYTES = 1024 * 1024;

function cannotMount({ path }: TreeEntry, why: string): Fault {
  const at = path === '' ? 'it' : printable(pathText(path).path);
  return new Fault('usage', `Cannot mount the folder: ${at} ${why}.`);
}

import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { setImmediate as others } from 'node:timers/promises';
import { Fault, fullDisk } from '../../base/fault.ts';
import { OWN_FILE } from '../../base/private.ts';
import { putFile, putLink, removeAt } from './check-tree.ts';
import { isGitName, type TreeEntry } from './tree.ts';
import { treeContent } from './tree-import.ts';

/** What a setup command did to a tree. Each character of a path is one byte. */
export interface PreparedTree {
  /** New and changed files that git does not ignore. */
  readonly put: readonly TreeEntry[];
  readonly deleted: readonly string[];
  /** New files that git ignores, such as dependencies. */
  readonly ignored: readonly TreeEntry[];
}

/** The facts about the command that made a prepared tree. */
export interface PreparedFacts {
  /** How long the command took. */
  readonly durationMs: number;
  /** Entries that cannot be kept, such as devices, sockets and nested `.git` folders. */
  readonly leftOut: number;
}

/** A prepared tree in one file: a line of JSON, the content of every file, and the SHA-256 of all that. */
export interface PreparedFile extends PreparedTree {
  readonly file: string;
  readonly sha256: `sha256:${string}`;
  readonly facts: PreparedFacts;
  /** Where the contents begin. */
  readonly start: number;
}

export const PREPARED_LIMITS = { bytes: 1024 ** 3, entries: 200_000 } as const;
const LIST_BYTES_MAX = 128 * 1024 * 1024;
const DIGEST_BYTES = 64;
const CHUNK_BYTES = 1024 * 1024;

/** Writes a prepared tree to a new file. */
export async function writePrepared(
  file: string,
  top: string,
  tree: PreparedTree,
  facts: PreparedFacts,
): Promise<PreparedFile> {
  const list = Buffer.from(`${JSON.stringify({ format: FORMAT, ...facts, ...listOf(tree) })}\n`);
  const hash = createHash('sha256').update(list);
  const fd = openSync(file, 'wx', OWN_FILE);
  try {
    writeAll(fd, list);
    for (const entry of [...tree.put, ...tree.ignored]) {
      let bytes = 0;
      for (const chunk of treeContent(top, entry)) {
        bytes += chunk.length;
        hash.update(chunk);
        writeAll(fd, chunk);
      }
      if (bytes !== entry.bytes) throw new Fault('setup_failed', 'A file changed after the setup command had ended.');
      await others();
    }
    const digest = hash.digest('hex');
    writeAll(fd, Buffer.from(digest));
    fsyncSync(fd);
    return { ...tree, file, facts, sha256: `sha256:${digest}`, start: list.length };
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('setup_failed', `The result of the setup command could not be kept${fullDisk(cause)}.`, { cause });
  } finally {
    closeSync(fd);
  }
}

const FORMAT = 'proctor-prepared.1';

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

type Row = readonly [path: string, kind: 'file' | 'link', bytes: number, isExecutable: boolean];

function listOf({ put, deleted, ignored }: PreparedTree): { put: Row[]; deleted: readonly string[]; ignored: Row[] } {
  const row = ({ path, kind, bytes, isExecutable }: TreeEntry): Row => [path, kind as Row[1], bytes, isExecutable];
  return { put: put.map(row), deleted, ignored: ignored.map(row) };
}

/** Reads the list of a prepared tree; undefined if the file is missing, damaged or not one that Proctor wrote. */
export function readPrepared(file: string): PreparedFile | undefined {
  let fd: number;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const stat = fstatSync(fd);
    const end = stat.size - DIGEST_BYTES;
    if (!stat.isFile() || end <= 0 || end > PREPARED_LIMITS.bytes + LIST_BYTES_MAX) return undefined;
    const digest = Buffer.concat([...pieces(fd, end, DIGEST_BYTES)]).toString('latin1');
    const hash = createHash('sha256');
    for (const piece of pieces(fd, 0, end)) hash.update(piece);
    if (hash.digest('hex') !== digest) return undefined;
    const list = lineAt(fd, Math.min(end, LIST_BYTES_MAX));
    const read = list && listIn(list);
    if (!read || sizeOf(read) !== end - list.length) return undefined;
    return { ...read, file, sha256: `sha256:${digest}`, start: list.length };
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}

function sizeOf({ put, ignored }: PreparedTree): number {
  return [...put, ...ignored].reduce((sum, { bytes }) => sum + bytes, 0);
}

/** The first line with its line feed. */
function lineAt(fd: number, bytesMax: number): Buffer | undefined {
  const read: Buffer[] = [];
  for (const piece of pieces(fd, 0, bytesMax)) {
    const at = piece.indexOf('\n');
    read.push(Buffer.from(at === -1 ? piece : piece.subarray(0, at + 1)));
    if (at !== -1) return Buffer.concat(read);
  }
  return undefined;
}

function listIn(line: Buffer): (PreparedTree & { readonly facts: PreparedFacts }) | undefined {
  const read = JSON.parse(line.toString()) as Record<string, unknown>;
  const { format, put, deleted, ignored, durationMs, leftOut } = read;
  if (format !== FORMAT || !isCount(durationMs) || !isCount(leftOut)) return undefined;
  if (!Array.isArray(put) || !Array.isArray(deleted) || !Array.isArray(ignored)) return undefined;
  const rows: unknown[] = [...put, ...ignored];
  if (!rows.every(isRow) || !deleted.every(isTreePath) || rows.length + deleted.length > PREPARED_LIMITS.entries)
    return undefined;
  const entries = rows.map(([path, kind, bytes, isExecutable]): TreeEntry => ({ path, kind, bytes, isExecutable }));
  return {
    put: entries.slice(0, put.length),
    deleted,
    ignored: entries.slice(put.length),
    facts: { durationMs, leftOut },
  };
}

function isRow(row: unknown): row is Row {
  if (!Array.isArray(row)) return false;
  const [at, kind, bytes, isExecutable] = row as unknown[];
  return isTreePath(at) && (kind === 'file' || kind === 'link') && isCount(bytes) && typeof isExecutable === 'boolean';
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Inside the tree, and not in any `.git`. */
export function isTreePath(at: unknown): at is string {
  return (
    typeof at === 'string' &&
    !at.includes('\0') &&
    at.split('/').every(name => !['', '.', '..'].includes(name) && !isGitName(name))
  );
}

/** Lays a prepared tree over another: all of it, or only these files. */
export async function layPrepared(
  prepared: PreparedFile,
  top: string,
  isWanted: (entry: TreeEntry) => boolean = () => true,
): Promise<void> {
  const fd = openSync(prepared.file, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    let at = prepared.start;
    for (const entry of [...prepared.put, ...prepared.ignored]) {
      if (isWanted(entry)) {
        if (entry.kind === 'link') putLink(top, entry.path, Buffer.concat([...pieces(fd, at, entry.bytes)]));
        else putFile(top, entry.path, pieces(fd, at, entry.bytes), entry.isExecutable);
        await others();
      }
      at += entry.bytes;
    }
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('setup_failed', `The result of the setup command could not be copied${fullDisk(cause)}.`, {
      cause,
    });
  } finally {
    closeSync(fd);
  }
}

/** Removes what the setup command deleted. */
export function removeDeleted({ deleted }: PreparedTree, top: string): void {
  for (const at of deleted) removeAt(top, at);
}

function* pieces(fd: number, from: number, bytes: number): Generator<Buffer> {
  for (let at = from; at < from + bytes; ) {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, from + bytes - at));
    const length = readSync(fd, chunk, 0, chunk.length, at);
    if (length === 0) throw new Fault('setup_failed', 'The result of the setup command is incomplete.');
    at += length;
    yield chunk.subarray(0, length);
  }
}

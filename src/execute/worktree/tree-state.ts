import { setImmediate as others } from 'node:timers/promises';
import type { FileChange, LeftOut } from '../../contracts/agent-step/changes.ts';
import type { Clone } from './clone.ts';
import { ignoredAmong } from './ignored.ts';
import { pathText, type TreeEntry } from './tree.ts';
import { unchangedIn } from './prepared-files.ts';
import { collisionsOf, entriesIn, leadsOut } from './tree-entries.ts';
import { blobName, modeOf } from './tree-import.ts';

/** How a tree differs from base. Each character of a path is one byte. */
export interface TreeState {
  readonly put: readonly TreeEntry[];
  readonly deleted: readonly string[];
  readonly changed: readonly FileChange[];
  readonly ignored: readonly TreeEntry[];
  readonly nested: readonly string[];
  readonly modules: ReadonlyMap<string, BaseEntry>;
  /** Submodules that are no longer empty folders. */
  readonly submodules: readonly string[];
  readonly linksOut: readonly string[];
  /** All symlinks, changed or not. */
  readonly links: readonly string[];
  readonly collisions: readonly string[];
  readonly leftOut: readonly LeftOut[];
  /** The exceeded limit, and the number of bytes that the diff omits because of it. */
  readonly missed: { readonly why: 'file_bytes' | 'entries'; readonly bytes: number } | undefined;
}

export interface TreeLimits {
  readonly entriesMax: number;
  /** Total length of all paths: half a million deep paths would not fit into memory. */
  readonly pathUnitsMax: number;
  readonly fileBytesMax: number;
  /** Total size of all new and changed files. */
  readonly totalBytesMax: number;
  /** Total size of all files that are read. A sparse file may be larger than the disk. */
  readonly readBytesMax: number;
}

const TURN_BYTES = 16 * 1024 * 1024;

export interface BaseEntry {
  readonly mode: string;
  readonly sha: string;
}

export function listingOf(commit: string): string[] {
  return ['ls-tree', '-r', '-z', '--full-tree', commit];
}

export function filesIn(listing: Buffer): Map<string, BaseEntry> {
  return listedChanges(listing, /^(\d{6}) \w+ ([0-9a-f]+)\t(.*)$/s);
}

export function isModule([, { mode }]: readonly [string, BaseEntry]): boolean {
  return mode === '160000';
}

export function listedChanges(listing: Buffer, line: RegExp): Map<string, BaseEntry> {
  const entries = listing.toString('latin1').split('\0').slice(0, -1);
  return new Map(
    entries.flatMap(entry => {
      const [, mode, sha, name] = line.exec(entry) ?? [];
      return mode === undefined || sha === undefined || name === undefined ? [] : [[name, { mode, sha }] as const];
    }),
  );
}

/** Compares a whole tree with base. Proctor reads the tree itself, because its git metadata cannot be trusted. */
export async function stateOf(
  clone: Clone,
  top: string,
  limits: TreeLimits,
  base: ReadonlyMap<string, BaseEntry>,
  tracked: ReadonlySet<string>,
): Promise<TreeState> {
  const found = await entriesIn(top, base, limits);
  const isNew = ({ path: at }: TreeEntry): boolean => !base.has(at) && !tracked.has(at);
  const known = new Set(
    clone.prepared ? found.files.filter(isNew).filter(unchangedIn(clone.prepared, top, clone)) : [],
  );
  const candidates = found.files.filter(entry => isNew(entry) && !known.has(entry));
  const hidden = await ignoredAmong(clone.trusted, top, candidates, found.ignoreFiles);
  const kept = found.files.filter(entry => !hidden.has(entry.path) && !known.has(entry));
  const { put, changed, skipped } = await changesIn(kept, clone, top, limits, base);
  const there = new Set(found.files.map(entry => entry.path));
  const deleted = [...base].filter(([at, { mode }]) => mode !== '160000' && !there.has(at) && !found.unread(at));
  for (const [at, { mode }] of deleted) changed.push({ ...pathText(at), change: 'delete', bytes: 0, mode });
  const leftOut = [...found.leftOut, ...skipped];
  const bytes = skipped.reduce((sum, file) => sum + file.bytes, 0);
  const isUnread = leftOut.some(({ why }) => why === 'unreadable' || why === 'too_large');
  return {
    put,
    deleted: deleted.map(([at]) => at),
    changed: changed.sort((a, b) => (a.path < b.path ? -1 : 1)),
    ignored: found.files.filter(entry => hidden.has(entry.path)),
    nested: found.nested,
    modules: new Map([...base].filter(isModule)),
    submodules: found.submodules,
    linksOut: put.filter(entry => entry.kind === 'link' && leadsOut(top, entry)).map(({ path: at }) => at),
    links: found.files.filter(({ kind }) => kind === 'link').map(({ path: at }) => at),
    collisions: collisionsOf(put, kept),
    leftOut,
    missed: found.isCut ? { why: 'entries', bytes } : isUnread ? { why: 'file_bytes', bytes } : undefined,
  };
}

/** Splits new and changed files: those in `put` go into the diff, those in `skipped` are too large or unreadable. */
async function changesIn(
  files: readonly TreeEntry[],
  { format }: Clone,
  top: string,
  limits: TreeLimits,
  base: ReadonlyMap<string, BaseEntry>,
): Promise<{ put: TreeEntry[]; changed: FileChange[]; skipped: LeftOut[] }> {
  const put: TreeEntry[] = [];
  const changed: FileChange[] = [];
  const skipped: LeftOut[] = [];
  let bytes = 0;
  let read = 0;
  for (const entry of files) {
    const before = base.get(entry.path);
    const isLarge = entry.bytes > limits.fileBytesMax || read + entry.bytes > limits.readBytesMax;
    // Lets other work in this process run.
    if (Math.floor(read / TURN_BYTES) !== Math.floor((read + entry.bytes) / TURN_BYTES)) await others();
    if (!isLarge) read += entry.bytes;
    const sha = isLarge ? undefined : blobName(top, entry, format);
    const mode = modeOf(entry);
    if (before && sha === before.sha && mode === before.mode) continue;
    changed.push({
      ...pathText(entry.path),
      change: before ? 'update' : 'add',
      bytes: entry.bytes,
      mode,
      ...(before && before.mode !== mode && { modeBefore: before.mode }),
    });
    if (sha === undefined || bytes + entry.bytes > limits.totalBytesMax) {
      const why = sha === undefined && !isLarge ? 'unreadable' : 'too_large';
      skipped.push({ path: pathText(entry.path).path, why, bytes: entry.bytes });
      continue;
    }
    bytes += entry.bytes;
    put.push(entry);
  }
  return { put, changed, skipped };
}

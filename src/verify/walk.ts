import { type Dirent, existsSync, lstatSync, opendirSync } from 'node:fs';
import path from 'node:path';
import { compare } from '../contracts/check.ts';
import { type Failure, kindOfEntry, unreadableBecause } from './source.ts';

export interface Tree {
  readonly ok: true;
  /** Regular files by path relative to the folder, with `/` between names, sorted. The value is the size in bytes. */
  readonly files: ReadonlyMap<string, number>;
  /** The same paths as an array, for searching. */
  readonly paths: readonly string[];
  /** Entries that are neither files nor folders, or whose names are not UTF-8. */
  readonly odd: readonly { readonly path: string; readonly what: string }[];
  /** Folders of Proctor's server. They are not evidence, so their files are not in the tree. */
  readonly ofServers: readonly string[];
}

/** Lists a folder recursively. Never follows links, so a cycle of links does no harm. */
export function walkFolder(folder: string): Tree | Failure {
  const files: [string, number][] = [];
  const odd: { path: string; what: string }[] = [];
  const ofServers: string[] = [];
  const pending = [''];
  let entries = 0;
  try {
    for (let below = pending.pop(); below !== undefined; below = pending.pop()) {
      const depth = below === '' ? 0 : below.split('/').length;
      if (depth > DEPTH_MAX) return refusedTree(`The folder is nested deeper than ${DEPTH_MAX} levels.`);
      for (const entry of entriesOf(path.join(folder, below))) {
        if (++entries > ENTRIES_MAX)
          return refusedTree(`The folder contains more than ${ENTRIES_MAX.toLocaleString('en-US')} entries.`);
        const relative = below === '' ? entry.name : `${below}/${entry.name}`;
        if (entry.name.includes('\ufffd')) odd.push({ path: relative, what: 'has a name that is not UTF-8' });
        else if (entry.isDirectory()) (isOfServer(folder, relative) ? ofServers : pending).push(relative);
        else if (entry.isFile()) files.push([relative, lstatSync(path.join(folder, relative)).size]);
        else odd.push({ path: relative, what: `is ${kindOfEntry(entry)}` });
      }
    }
  } catch (error) {
    return unreadableBecause(error);
  }
  files.sort(([a], [b]) => compare(a, b));
  return {
    ok: true,
    files: new Map(files),
    paths: files.map(([file]) => file),
    odd: odd.sort((a, b) => compare(a.path, b.path)),
    ofServers: ofServers.sort(compare),
  };
}

/**
 * Whether a folder is `server` in a `.proctor` folder. Below a sealed run, every file counts, whatever its path: a file
 * that was added there breaks the seal.
 */
function isOfServer(top: string, relative: string): boolean {
  const folder = path.resolve(top, relative);
  if (path.basename(folder) !== 'server' || path.basename(path.dirname(folder)) !== '.proctor') return false;
  for (let at = path.dirname(relative); ; at = path.dirname(at)) {
    if (existsSync(path.join(top, at, 'evidence', 'seal.json'))) return false;
    if (at === '.') return true;
  }
}

/** Files whose path starts with a prefix. Uses binary search, because the tree is sorted. */
export function* filesBelow(prefix: string, { paths }: Tree): Generator<string> {
  let low = 0;
  let high = paths.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((paths[middle] as string) < prefix) low = middle + 1;
    else high = middle;
  }
  for (let index = low; index < paths.length; index++) {
    const file = paths[index] as string;
    if (!file.startsWith(prefix)) return;
    yield file;
  }
}

/** The folder `levels` above a file's folder. '' is the top; undefined is outside. */
export function above(file: string, levels: number): string | undefined {
  const names = file.split('/').slice(0, -1);
  return levels > names.length ? undefined : names.slice(0, names.length - levels).join('/');
}

const ENTRIES_MAX = 500_000;
const DEPTH_MAX = 32;

/** Yields entries one at a time, so a folder with a million names is never loaded whole. */
function* entriesOf(folder: string): Generator<Dirent> {
  const handle = opendirSync(folder, { bufferSize: 256 });
  try {
    for (let entry = handle.readSync(); entry; entry = handle.readSync()) yield entry;
  } finally {
    handle.closeSync();
  }
}

function refusedTree(message: string): Failure {
  return { ok: false, outcome: 'refused', code: 'folder_too_large', message };
}

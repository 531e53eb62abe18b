import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** The files below some folders, each with a stamp that changes when the file does. */
export type FileStamps = ReadonlyMap<string, string>;

/** Reads the stamps of all files, without following links. Folders that tools fill are skipped. */
export function fileStamps(roots: readonly string[], skipped: ReadonlySet<string>): FileStamps {
  const stamps = new Map<string, string>();
  const folders = [...roots];
  for (let folder = folders.pop(); folder !== undefined && stamps.size < FILES_MAX; folder = folders.pop()) {
    for (const entry of entriesIn(folder)) {
      const file = path.join(folder, entry.name);
      if (skipped.has(file)) continue;
      if (entry.isDirectory()) {
        if (!SKIPPED.test(entry.name) && folders.length < FILES_MAX) folders.push(file);
      } else if (stamps.size < FILES_MAX) stamps.set(file, stampOf(file));
    }
  }
  return stamps;
}

/** A file that appeared, changed or disappeared between two readings; undefined if none did. */
export function changedFiles(before: FileStamps, after: FileStamps): string[] {
  const changed = [...after].filter(([file, stamp]) => before.get(file) !== stamp).map(([file]) => file);
  const gone = [...before.keys()].filter(file => !after.has(file));
  return [...changed, ...gone];
}

const SKIPPED = /^(?:\.git|\.proctor|\.venv|node_modules|__pycache__)$/;
const FILES_MAX = 20_000;

function entriesIn(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function stampOf(file: string): string {
  const { mtimeMs, size, ino } = lstatSync(file, { throwIfNoEntry: false }) ?? { mtimeMs: 0, size: 0, ino: 0 };
  return `${mtimeMs} ${size} ${ino}`;
}

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Clone } from './clone.ts';
import type { PreparedFile } from './prepared.ts';
import type { TreeEntry } from './tree.ts';
import { blobName, modeOf } from './tree-import.ts';
import type { BaseEntry } from './tree-state.ts';

/** Files that were in the tree before the agent started, besides those of the base commit. */
export interface PreparedFiles {
  /** By path, one character per byte. */
  readonly files: ReadonlyMap<string, BaseEntry>;
  /** Where their contents are; undefined in recovery. */
  readonly from?: PreparedFile;
}

/** Hashes the ignored files of a prepared tree that was laid into the clone, and notes them in the stage for recovery. */
export function preparedFiles(prepared: PreparedFile, { tree, format }: Clone, stage: string): PreparedFiles {
  const files = new Map(
    prepared.ignored.map(entry => [entry.path, { mode: modeOf(entry), sha: blobName(tree, entry, format) ?? '' }]),
  );
  writeFileSync(path.join(stage, LIST), JSON.stringify([...files].map(([at, { mode, sha }]) => [at, mode, sha])));
  return { files, from: prepared };
}

const LIST = 'prepared.json';

/** The same list, read from the stage; undefined if there was no setup. */
export function preparedIn(stage: string): PreparedFiles | undefined {
  try {
    const rows = JSON.parse(readFileSync(path.join(stage, LIST), 'utf8')) as [string, string, string][];
    return { files: new Map(rows.map(([at, mode, sha]) => [at, { mode, sha }])) };
  } catch {
    return undefined;
  }
}

/** Returns a test for whether an entry is an unchanged prepared file. */
export function unchangedIn(
  { files }: PreparedFiles,
  top: string,
  { format }: Pick<Clone, 'format'>,
): (entry: TreeEntry) => boolean {
  return entry => {
    const before = files.get(entry.path);
    return before !== undefined && before.mode === modeOf(entry) && before.sha === blobName(top, entry, format);
  };
}

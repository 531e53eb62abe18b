import { lstatSync, readlinkSync } from 'node:fs';
import type { ReviewedPath } from '../../contracts/agent-step/changes.ts';
import { hasActiveParts, needsReview, type TreeView } from '../../policy/active-changes.ts';
import { askGit } from './git.ts';
import { pathText, placeIn, type TreeEntry } from './tree.ts';
import { treeContent } from './tree-import.ts';
import type { BaseEntry } from './tree-state.ts';

/** Finds changed files that run automatically once they are applied. Reads the tree without following symlinks. */
export async function reviewTree(
  gitDir: string,
  top: string,
  { put, deleted, links }: { put: readonly TreeEntry[]; deleted: readonly string[]; links: readonly string[] },
  base: ReadonlyMap<string, BaseEntry>,
): Promise<ReviewedPath[]> {
  const after = new Map(put.filter(({ path }) => hasActiveParts(path)).map(entry => [entry.path, textIn(top, entry)]));
  const before = new Map<string, string | undefined>();
  for (const path of after.keys()) {
    const sha = base.get(path)?.sha;
    if (sha !== undefined) before.set(path, await blobText(gitDir, sha));
  }
  const view: TreeView = {
    linkAt: path => linkIn(top, path),
    links,
    has: path => isThere(top, path),
    textsOf(path) {
      if (!after.has(path)) return deleted.includes(path) ? { before: undefined, after: undefined } : undefined;
      const text = after.get(path);
      const isKnown = text !== undefined && (!before.has(path) || before.get(path) !== undefined);
      return isKnown ? { before: before.get(path), after: text } : undefined;
    },
  };
  const paths = [...put.map(({ path }) => path), ...deleted].sort();
  return [...needsReview(paths, view)].map(([path, reason]) => ({ path: pathText(path).path, reason }));
}

export const REVIEWED_TEXT_BYTES_MAX = 1024 * 1024;

function textIn(top: string, entry: TreeEntry): string | undefined {
  if (entry.kind !== 'file' || entry.bytes > REVIEWED_TEXT_BYTES_MAX) return undefined;
  try {
    return Buffer.concat([...treeContent(top, entry)].map(chunk => Buffer.from(chunk))).toString();
  } catch {
    return undefined;
  }
}

export async function blobText(gitDir: string, sha: string): Promise<string | undefined> {
  const { code, stdout } = await askGit(['cat-file', 'blob', sha], { gitDir });
  return code === 0 && stdout.length <= REVIEWED_TEXT_BYTES_MAX ? stdout.toString() : undefined;
}

/** The target of a symlink, one character per byte; undefined if it is not a symlink. */
export function linkIn(top: string, path: string): string | undefined {
  try {
    return readlinkSync(placeIn(top, path), 'buffer').toString('latin1');
  } catch {
    return undefined;
  }
}

export function isThere(top: string, path: string): boolean {
  try {
    return lstatSync(placeIn(top, path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

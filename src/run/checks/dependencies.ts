import { createHash } from 'node:crypto';
import { filesOfTree } from '../../execute/worktree/check-tree.ts';
import type { TreeEntry } from '../../execute/worktree/tree.ts';
import { modeOf, treeContent } from '../../execute/worktree/tree-import.ts';
import { isDependencyFolder, isToolCache } from '../../policy/check-files.ts';

/** A folder of dependencies that differs from before the agent started. */
export interface ChangedFolder {
  readonly path: string;
  readonly change: 'added' | 'changed' | 'deleted';
  readonly because: 'dependency';
  /** Some of the agent's files in it, for the diff. */
  readonly entries: readonly TreeEntry[];
}

/** Compares the folders of dependencies, such as `node_modules`, with the tree before the agent started. */
export async function changedDependencies(
  top: string,
  found: ReadonlyMap<string, TreeEntry>,
  start: string,
): Promise<ChangedFolder[]> {
  const now = foldersIn(found);
  const before = foldersIn(await filesOfTree(start));
  const changed: ChangedFolder[] = [];
  for (const [at, files] of now) {
    const old = before.get(at);
    const isSame = old !== undefined && digestOf(top, files) === digestOf(start, old);
    if (isSame) continue;
    const entries = files.slice(0, DIFFED_MAX);
    changed.push({ path: at, change: old ? 'changed' : 'added', because: 'dependency', entries });
  }
  for (const at of before.keys())
    if (!now.has(at)) changed.push({ path: at, change: 'deleted', because: 'dependency', entries: [] });
  return changed;
}

const DIFFED_MAX = 100;

/** The path of the topmost folder of dependencies above a path, or of the path itself. */
export function dependencyFolderOf(at: string): string | undefined {
  const names = at.split('/');
  const index = names.findIndex(isDependencyFolder);
  return index < 0 ? undefined : names.slice(0, index + 1).join('/');
}

function foldersIn(files: ReadonlyMap<string, TreeEntry>): Map<string, TreeEntry[]> {
  const folders = new Map<string, TreeEntry[]>();
  for (const [at, entry] of files) {
    const folder = dependencyFolderOf(at);
    if (folder === undefined || isToolCache(at)) continue;
    const listed = folders.get(folder);
    if (listed) listed.push(entry);
    else folders.set(folder, [entry]);
  }
  return folders;
}

function digestOf(top: string, files: readonly TreeEntry[]): string {
  const hash = createHash('sha256');
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  for (const entry of sorted) {
    const content = createHash('sha256');
    for (const chunk of treeContent(top, entry)) content.update(chunk);
    hash.update(`${modeOf(entry)} ${content.digest('hex')} ${entry.path}\0`, 'latin1');
  }
  return hash.digest('hex');
}

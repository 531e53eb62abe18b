import { posix } from 'node:path';
import type { LeftOut } from '../../contracts/agent-step/changes.ts';
import { nameKey } from '../../base/path.ts';
import { isGitName, nameOf, pathText, type TreeEntry, walkTree } from './tree.ts';
import { treeContent } from './tree-import.ts';
import type { BaseEntry, TreeLimits } from './tree-state.ts';

/** The entries of a tree, grouped by how Proctor treats them. */
export interface Entries {
  readonly files: readonly TreeEntry[];
  readonly ignoreFiles: readonly TreeEntry[];
  /** Folders with a `.git`. */
  readonly nested: readonly string[];
  readonly submodules: readonly string[];
  readonly leftOut: readonly LeftOut[];
  /** The tree exceeds a limit. */
  readonly isCut: boolean;
  /** Whether it is unknown if this path exists. */
  readonly unread: (path: string) => boolean;
}

export async function entriesIn(
  top: string,
  base: ReadonlyMap<string, BaseEntry>,
  { entriesMax, pathUnitsMax }: TreeLimits,
): Promise<Entries> {
  const files: TreeEntry[] = [];
  const nested: string[] = [];
  const leftOut: LeftOut[] = [];
  const closed: string[] = [];
  const submodules = new Set<string>();
  let count = 0;
  let units = 0;
  let isCut = false;
  const modules = [...base].flatMap(([path, { mode }]) => (mode === '160000' ? [`${path}/`] : []));
  for await (const entry of walkTree(top, { isEntered, isOurs: true })) {
    const { path, kind, bytes } = entry;
    if (path === '.git') continue;
    units += path.length;
    isCut = ++count > entriesMax || units > pathUnitsMax;
    if (isCut) break;
    if (nameOf(path) === '.git') {
      nested.push(posix.dirname(path));
      continue;
    }
    const module = modules.find(folder => path.startsWith(folder));
    if (module !== undefined) submodules.add(module.slice(0, -1));
    const leave = (why: LeftOut['why']): number => leftOut.push({ path: pathText(path).path, why, bytes });
    if (kind === 'unreadable') closed.push(path);
    if (isUnsafe(path, kind)) leave('unsafe_name');
    else if (kind === 'folder') continue;
    else if (kind !== 'file' && kind !== 'link') leave(kind);
    else if (module !== undefined) leave('in_submodule');
    else files.push(entry);
  }
  files.sort(byPath);
  return {
    files,
    ignoreFiles: files.filter(({ path, kind }) => nameOf(path) === '.gitignore' && kind === 'file'),
    nested: nested.sort(),
    submodules: [...submodules].sort(),
    leftOut: leftOut.sort(byPath),
    isCut,
    unread: path => isCut || closed.some(folder => folder === '' || path === folder || path.startsWith(`${folder}/`)),
  };
}

function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  return a.path < b.path ? -1 : 1;
}

function isEntered({ path, kind }: TreeEntry): boolean {
  return nameOf(path) !== '.git' && !isUnsafe(path, kind);
}

function isUnsafe(path: string, kind: TreeEntry['kind']): boolean {
  const name = nameOf(path);
  return (kind === 'link' && /^\.gitmodules$/i.test(name)) || (name !== '.git' && isGitName(name));
}

/** Whether the target of a symlink is outside the tree. Decided by its text alone. */
export function leadsOut(top: string, link: TreeEntry): boolean {
  const [target = Buffer.alloc(0)] = treeContent(top, link);
  const text = target.toString('latin1');
  if (text.startsWith('/')) return true;
  const place = posix.normalize(posix.join(posix.dirname(link.path), text));
  return place === '..' || place.startsWith('../');
}

/** New entries whose names collide on a file system that ignores case. */
export function collisionsOf(put: readonly TreeEntry[], all: readonly TreeEntry[]): string[] {
  const byKey = new Map<string, number>();
  for (const entry of all) byKey.set(keyOf(entry), (byKey.get(keyOf(entry)) ?? 0) + 1);
  return put.filter(entry => (byKey.get(keyOf(entry)) ?? 0) > 1).map(({ path }) => path);
}

function keyOf({ path }: TreeEntry): string {
  return nameKey(Buffer.from(path, 'latin1').toString());
}

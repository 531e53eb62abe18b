import { lstatSync } from 'node:fs';
import path from 'node:path';

/** Which paths of a tree the sandbox can keep from being written. */
export interface ReadOnlyPaths {
  /** Files and folders that are there, and are mounted read-only. */
  readonly mounted: readonly string[];
  /** Not there yet, reached through a link, or too many: only looking at the tree afterwards tells. */
  readonly afterwards: readonly string[];
}

/** Sorts paths by what lies in a tree before anything runs in it. No link is followed: a mount would be of its target. */
export function readOnlyIn(tree: string, paths: readonly string[]): ReadOnlyPaths {
  const isMounted = new Map<string, boolean>();
  let count = 0;
  for (const one of paths) isMounted.set(one, isPlain(tree, one) && ++count <= MOUNTS_MAX);
  return {
    mounted: paths.filter(one => isMounted.get(one)),
    afterwards: paths.filter(one => !isMounted.get(one)),
  };
}

/** Each takes bubblewrap a moment of every launch. */
const MOUNTS_MAX = 100;

function isPlain(tree: string, below: string): boolean {
  const names = below.split('/');
  if (names.some(name => ['', '.', '..'].includes(name) || name.includes('\0'))) return false;
  return names.every((_, index) => {
    const stat = lstatSync(path.join(tree, ...names.slice(0, index + 1)), { throwIfNoEntry: false });
    const isLast = index === names.length - 1;
    return stat !== undefined && (stat.isDirectory() || (isLast && stat.isFile()));
  });
}

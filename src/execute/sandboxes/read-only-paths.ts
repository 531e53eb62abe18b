import { lstatSync } from 'node:fs';
import path from 'node:path';

/** Which paths of a tree the sandbox can make read-only. */
export interface ReadOnlyPaths {
  /** Existing files and folders, which are mounted read-only. */
  readonly mounted: readonly string[];
  /** Missing paths, paths through a symlink, and paths beyond the limit. Proctor checks these after the run. */
  readonly afterwards: readonly string[];
}

/** Classifies paths before anything runs. Does not follow symlinks, because a mount would apply to the target. */
export function readOnlyIn(tree: string, paths: readonly string[]): ReadOnlyPaths {
  const isMounted = new Map<string, boolean>();
  let count = 0;
  for (const one of paths) isMounted.set(one, isPlain(tree, one) && ++count <= MOUNTS_MAX);
  return {
    mounted: paths.filter(one => isMounted.get(one)),
    afterwards: paths.filter(one => !isMounted.get(one)),
  };
}

/** Each mount slows down every launch. */
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

import { nameKey } from '../../base/path.ts';

/** The first path that some file system takes for an earlier one, or for a folder of it, though it is written otherwise. */
export function firstCollision(
  paths: readonly string[],
): { readonly index: number; readonly earlier: number } | undefined {
  const spelled = new Map<string, { readonly name: string; readonly index: number }>();
  for (const [index, path] of paths.entries()) {
    for (const name of namesAlong(path)) {
      const key = nameKey(name);
      const earlier = spelled.get(key);
      if (!earlier) spelled.set(key, { name, index });
      else if (earlier.name !== name) return { index, earlier: earlier.index };
    }
  }
  return undefined;
}

/** `a`, `a/b` and `a/b/c` for `a/b/c`; of a path that is deeper than any run allows, the first ones. */
function namesAlong(path: string): string[] {
  const names = path.split('/', DEPTH_MAX).filter(name => name !== '');
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}

const DEPTH_MAX = 32;

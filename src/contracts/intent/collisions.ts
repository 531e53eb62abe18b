import { nameKey } from '../../base/path.ts';
import { PATH_DEPTH_MAX } from './parts.ts';

/** The first path that some file system cannot distinguish from an earlier path, or from one of its folders. */
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

/** `a`, `a/b` and `a/b/c` for `a/b/c`. Stops at the depth that runs allow. */
function namesAlong(path: string): string[] {
  const names = path.split('/', PATH_DEPTH_MAX).filter(name => name !== '');
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}

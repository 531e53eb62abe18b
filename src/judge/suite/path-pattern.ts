import type { Effort } from './effort.ts';

/**
 * Whether a pattern matches a path or one of its folders. `*` matches part of a name, `**` any number of folders.
 * Takes at most (pattern length × path length) steps.
 */
export function matchesPath(pattern: string, path: string, effort: Effort): boolean {
  effort.take(pattern.includes('*') ? pattern.length * path.length : pattern.length + path.length);
  const wanted = pattern.replace(/\/$/, '').split('/');
  const names = path.split('/');
  /** Which prefixes of the path match the pattern up to the current part. */
  let reached = new Set([0]);
  for (const part of wanted) {
    if (part === '.') continue;
    const next = new Set<number>();
    if (part === '**') for (let at = Math.min(...reached); at <= names.length; at++) next.add(at);
    else for (const at of reached) if (at < names.length && matchesName(part, names[at] as string)) next.add(at + 1);
    if (next.size === 0) return false;
    reached = next;
  }
  return reached.size > 0;
}

/** After a mismatch, only the last star needs to advance: everything before it matched as early as possible. */
function matchesName(pattern: string, name: string): boolean {
  let [at, from, star, starAt] = [0, 0, -1, 0];
  while (at < name.length) {
    if (pattern[from] === '*') [star, starAt, from] = [from, at, from + 1];
    else if (pattern[from] === name[at]) [from, at] = [from + 1, at + 1];
    else if (star >= 0) [from, starAt, at] = [star + 1, starAt + 1, starAt + 1];
    else return false;
  }
  while (pattern[from] === '*') from++;
  return from === pattern.length;
}

/**
 * A path and the paths that enclose it, innermost first: `events[2].args`, `events[2]`, `events`. A key may contain any
 * character, so each step removes at least one.
 */
export function* enclosingPaths(path: string): Generator<string> {
  let left = path.slice(0, PATH_UNITS_MAX);
  while (left !== '') {
    yield left;
    left = left.slice(0, Math.max(0, left.lastIndexOf('.'), left.lastIndexOf('[')));
  }
}

const PATH_UNITS_MAX = 1_000;

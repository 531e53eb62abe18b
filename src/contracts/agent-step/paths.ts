/** A tree of path segments. One that ends a root covers all that lies below it. */
interface Branch {
  isRoot: boolean;
  readonly below: Map<string, Branch>;
}

/** Tells whether a path equals one of the roots or lies below it, in time that grows with the path alone. */
export function inside(roots: readonly string[]): (path: string) => boolean {
  const tree: Branch = { isRoot: false, below: new Map() };
  for (const root of roots) {
    let branch = tree;
    for (const segment of segmentsOf(root)) {
      let next = branch.below.get(segment);
      if (!next) branch.below.set(segment, (next = { isRoot: false, below: new Map() }));
      branch = next;
    }
    branch.isRoot = true;
  }
  return path => {
    let branch: Branch | undefined = tree;
    for (const segment of segmentsOf(path)) {
      if (branch.isRoot) return true;
      branch = branch.below.get(segment);
      if (!branch) return false;
    }
    return branch.isRoot;
  };
}

/** A path in the one form that all its spellings have. */
export function plainPath(path: string): string {
  return segmentsOf(path).join('/') || '.';
}

/** `./src/a` and `src\a` are the same path as `src/a`; `.` alone is the whole work folder. */
function segmentsOf(path: string): string[] {
  return path.split(/[/\\]/).filter(segment => segment !== '.');
}

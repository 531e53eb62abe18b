/** A tree of path segments. A root covers everything below it. */
interface Branch {
  isRoot: boolean;
  readonly below: Map<string, Branch>;
}

/** Returns a test for whether a path is equal to or below one of the roots. Its cost depends only on the path. */
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

export function plainPath(path: string): string {
  return segmentsOf(path).join('/') || '.';
}

/** `./src/a` and `src\a` are equal to `src/a`; `.` is the whole work tree. */
function segmentsOf(path: string): string[] {
  return path.split(/[/\\]/).filter(segment => segment !== '.');
}

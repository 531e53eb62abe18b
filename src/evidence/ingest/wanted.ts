/** What to copy from a folder entry: a file, a whole folder, or some names in a folder. */
export interface Wanted {
  isFile: boolean;
  isWhole: boolean;
  readonly names: Map<string, Wanted>;
}

export const EVERYTHING: Wanted = { isFile: false, isWhole: true, names: new Map() };

/** Turns paths below a folder into a tree of names. A trailing slash means the whole folder; `./` means everything. */
export function wantedTree(paths: readonly string[]): Wanted {
  const root = unwanted();
  for (const path of paths) {
    const isWhole = path.endsWith('/');
    let at = root;
    for (const name of (isWhole ? path.slice(0, -1) : path).split('/')) {
      if (name === '.') continue;
      const next = at.names.get(name) ?? unwanted();
      at.names.set(name, next);
      at = next;
    }
    if (isWhole) at.isWhole = true;
    else at.isFile = true;
  }
  return root;
}

function unwanted(): Wanted {
  return { isFile: false, isWhole: false, names: new Map() };
}

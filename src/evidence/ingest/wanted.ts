/** What is wanted of one name in a folder: as a file, as a folder with all that is in it, or some names in it. */
export interface Wanted {
  isFile: boolean;
  isWhole: boolean;
  readonly names: Map<string, Wanted>;
}

/** A folder with all that is in it. */
export const EVERYTHING: Wanted = { isFile: false, isWhole: true, names: new Map() };

/** Paths below a folder, as the names to look for in it; one that ends with a slash is wanted whole, `./` is all of it. */
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

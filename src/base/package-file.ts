import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Fault } from './fault.ts';

/** Finds the first of the given package files, in the folder of this code or in a folder above it. */
export function findInPackage(names: readonly string[]): string {
  for (let folder = path.dirname(fileURLToPath(import.meta.url)); ; folder = path.dirname(folder)) {
    const found = names.map(name => path.join(folder, name)).find(file => existsSync(file));
    if (found !== undefined) return found;
    if (folder === path.dirname(folder))
      throw new Fault(
        'not_built',
        'Files are missing from the Proctor package. Reinstall it, or run `npm run build` in a checkout.',
      );
  }
}

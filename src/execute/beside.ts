import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Fault } from '../base/fault.ts';

/** The path of a built program: next to this bundle or, from source, in the `dist` folder of the package. */
export function builtBeside(name: string): string {
  for (let folder = path.dirname(fileURLToPath(import.meta.url)); ; folder = path.dirname(folder)) {
    for (const file of [name, path.join('dist', name)]) {
      if (existsSync(path.join(folder, file))) return path.join(folder, file);
    }
    if (folder === path.dirname(folder)) throw new Fault('not_built', 'Proctor is not built. Run `npm run build`.');
  }
}

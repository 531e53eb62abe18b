import { findInPackage } from '../base/package-file.ts';

/** One of our programs: next to this bundle, or in `dist` when this code runs from source. */
export function builtBeside(name: string): string {
  return findInPackage([name, `dist/${name}`]);
}

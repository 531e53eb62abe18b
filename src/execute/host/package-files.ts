import { findInPackage } from '../../base/package-file.ts';

/** The path of a built program: next to this bundle or, from source, in the `dist` folder of the package. */
export function builtProgram(name: string): string {
  return findInPackage([name, `dist/${name}`]);
}

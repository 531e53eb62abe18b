import { existsSync, lstatSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { isMineOrRoots } from '../../base/owner.ts';
import { printable } from '../../base/printable.ts';
import { followLink, readRegular } from '../../base/regular.ts';
import { isDeclaration, project, type Project } from '../../contracts/project/index.ts';
import { type DeclarationFault, declarationFaults } from '../../targets/declaration-faults.ts';
import { readPlaced } from '../written/document.ts';

/** A project file that was read. Its paths are relative to `dir`. */
export interface ProjectFile {
  /** The base name of the file. */
  readonly name: string;
  readonly dir: string;
  readonly project: Project;
  /** The line of a key such as `suites.refunds.repeat`, or of its nearest existing parent. */
  readonly lineOf: (place: string) => number;
}

/** Reads a project file in YAML or JSON. Reports every problem with its line, before anything starts. */
export function readProjectFile(file: string): ProjectFile {
  const name = path.basename(file);
  const bytes = readRegular(followLink(file), project.bytesMax);
  if (!bytes)
    throw new Fault('no_project', `Cannot read the project file "${printable(name)}", or it is larger than 1 MiB.`);
  const { value, lineOf } = readPlaced(bytes, {
    contract: project,
    file: `project file "${printable(name)}"`,
    code: 'project_invalid',
    further: document => targetFaults(document as Project),
  });
  return { name, dir: path.dirname(path.resolve(file)), project: value as Project, lineOf };
}

/** Problems in targets that satisfy their contract. */
function* targetFaults({ targets }: Project): Generator<DeclarationFault> {
  for (const [name, target] of Object.entries(targets)) {
    if (!isDeclaration(target)) continue;
    for (const { path: place, message } of declarationFaults(target))
      yield { path: `targets.${name}.${place}`, message: `targets.${name}.${message}` };
  }
}

/**
 * Finds the project file: in `cwd`, else in the nearest folder above it, up to the top of the repository. Ignores a file in
 * a folder above if another user owns it or can change it, because its commands would run as this user.
 */
export function findProjectFile(cwd: string): string | undefined {
  for (let folder = path.resolve(cwd); ; folder = path.dirname(folder)) {
    const file = NAMES.map(name => path.join(folder, name)).find(one => existsSync(one));
    if (file !== undefined && (folder === path.resolve(cwd) || isOwn(file))) return file;
    if (existsSync(path.join(folder, '.git')) || folder === path.dirname(folder)) return undefined;
  }
}

const NAMES = ['proctor.yaml', 'proctor.yml', 'proctor.json'];

function isOwn(file: string): boolean {
  const stat = statSync(file);
  return isMineOrRoots(lstatSync(file)) && isMineOrRoots(stat) && (stat.mode & 0o002) === 0;
}

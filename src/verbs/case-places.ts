import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import type { CasePlaces } from '../reports/report.ts';
import { caseLines } from '../run/suite/case-lines.ts';

/**
 * Where the cases of a file are written. Undefined if the file is outside the repository, because a CI service shows
 * only files of the repository. Without a repository, the current folder takes its place.
 */
export function casePlaces(file: string, cwd: string): CasePlaces | undefined {
  const real = realFile(path.resolve(cwd, file));
  const relative = path.relative(repositoryOf(path.dirname(real)) ?? realpathSync(cwd), real);
  if (relative.split(path.sep)[0] === '..' || path.isAbsolute(relative)) return undefined;
  let lines: ReadonlyMap<string, number> | undefined;
  return {
    file: relative.split(path.sep).join('/'),
    lineOf: id => (lines ??= caseLines(real)).get(id),
  };
}

function realFile(file: string): string {
  try {
    return realpathSync(file);
  } catch (cause) {
    const name = printable(path.basename(file));
    throw new Fault('usage', `The case file ${name} does not exist, or cannot be opened.`, { cause });
  }
}

/** The nearest folder that contains `.git`, which is a file in a worktree. */
function repositoryOf(folder: string): string | undefined {
  for (let at = folder; ; at = path.dirname(at)) {
    if (existsSync(path.join(at, '.git'))) return at;
    if (at === path.dirname(at)) return undefined;
  }
}

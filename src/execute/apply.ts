import { lstatSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { changedPaths, filtersOff, topOf } from './clone-source.ts';
import { askGit, type Asking } from './git.ts';
import { isGitName, pathText, placeIn } from './tree.ts';

export interface Application {
  /** The diff counts its paths from the top of the repository that the folder lies in; else from the folder. */
  readonly fromTop: boolean;
  /** Only say whether it would work. */
  readonly isTrial: boolean;
}

/**
 * Brings a diff into a work tree: all of it, or nothing. What is committed and staged there stays as it is, and nothing
 * that the user or the diff has configured runs.
 */
export async function applyDiff(diff: Uint8Array, dir: string, { fromTop, isTrial }: Application): Promise<void> {
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) {
    throw new Fault('usage', 'The folder to apply the diff in is not there, or is no folder.');
  }
  const folder = realpathSync(dir);
  const repository = await topOf(folder);
  const top = fromTop ? (repository ?? folder) : folder;
  const asking: Asking = {
    cwd: top,
    asUser: true,
    input: diff,
    // Where the folder is no repository, one above it must not make git skip what lies outside of it.
    env: { GIT_CEILING_DIRECTORIES: path.dirname(top) },
    settings: [...(await filtersOff(top)), ['apply.whitespace', 'nowarn'], ['apply.ignoreWhitespace', 'no']],
  };
  const paths = await pathsIn(asking);
  for (const at of paths) refuseWay(top, at);
  if (repository === top) await refuseChanged(top, new Set(paths));
  for (const step of isTrial ? ['--check'] : ['--check', undefined]) {
    const { code, stderr } = await askGit(['apply', ...(step === undefined ? [] : [step]), '-'], asking);
    if (code !== 0) throw doesNotFit(stderr);
  }
}

/** The paths that git would write to, as it reads them itself. */
async function pathsIn(asking: Asking): Promise<string[]> {
  const { code, stdout, stderr } = await askGit(['apply', '--numstat', '-z', '-'], asking);
  if (code !== 0) throw doesNotFit(stderr);
  return stdout
    .toString('latin1')
    .split('\0')
    .flatMap(line => /^(?:-|\d+)\t(?:-|\d+)\t(.+)$/s.exec(line)?.[1] ?? []);
}

/** A path must stay in the tree, out of `.git`, and lead through no link. */
function refuseWay(top: string, at: string): void {
  const shown = printable(pathText(at).path);
  const names = at.split('/');
  if (names.some(name => ['', '.', '..'].includes(name)))
    throw notApplied(`The diff leads out of the folder: ${shown}.`);
  if (names.some(isGitName)) throw notApplied(`The diff would change what git keeps for itself: ${shown}.`);
  for (let length = 1; length < names.length; length++) {
    const stat = lstatSync(placeIn(top, names.slice(0, length).join('/')), { throwIfNoEntry: false });
    if (stat?.isSymbolicLink()) throw notApplied(`The way to ${shown} leads through a link.`);
  }
}

async function refuseChanged(top: string, paths: ReadonlySet<string>): Promise<void> {
  const changed = (await changedPaths(top)).find(at => paths.has(at));
  if (changed === undefined) return;
  throw notApplied(
    `${printable(pathText(changed).path)} has changes that are not committed. Commit or stash them, then apply the run.`,
  );
}

/** Git names the first of the files that are not what they were. */
function doesNotFit(stderr: string): Fault {
  const [, file, why = ''] = /^error: (?:patch failed: )?(.+?)(?::\d+)?(?:: ([A-Za-z ]+))?$/m.exec(stderr) ?? [];
  const what = /already exists/.test(why) ? 'is there already' : 'is not as it was when the agent began';
  const named = file === undefined ? 'A file' : printable(file);
  return notApplied(`${named} ${what}, so nothing was changed.`, stderr);
}

function notApplied(message: string, cause?: string): Fault {
  return new Fault('not_applied', message, { cause });
}

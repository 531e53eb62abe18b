import { lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import type { ReviewedPath } from '../../contracts/agent-step/changes.ts';
import { isProctors, PROCTORS } from '../../policy/active-changes.ts';
import { reviewDiff, type Reviewed } from './apply-review.ts';
import { changedPaths, filtersOff, topOf } from './clone-source.ts';
import { askGit, type Asking } from './git.ts';
import { isGitName, pathText, placeIn } from './tree.ts';

export interface Application {
  /** Paths in the diff are relative to the top of the repository, not to the folder. */
  readonly fromTop: boolean;
  readonly isTrial: boolean;
  /** The base commit of the diff, which the repository must contain. */
  readonly base?: string;
  /** Exact paths of files that may change although they run automatically. */
  readonly allowActive?: readonly string[];
}

/**
 * Applies a diff to a work tree, completely or not at all. Commits and the index stay unchanged. Programs that the user
 * or the diff configures do not run. Returns the allowed files that run automatically.
 */
export async function applyDiff(
  diff: Buffer,
  dir: string,
  { fromTop, isTrial, base, allowActive = [] }: Application,
): Promise<ReviewedPath[]> {
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) {
    throw new Fault('usage', 'The target of the diff does not exist or is not a folder.');
  }
  if (MOVES.some(line => diff.includes(line))) {
    throw notApplied("The diff copies or renames a file, which a run's diff never does.");
  }
  const folder = realpathSync(dir);
  const repository = await topOf(folder);
  const top = fromTop ? (repository ?? folder) : folder;
  refuseTop(top, repository);
  const asking: Asking = {
    cwd: top,
    asUser: true,
    input: diff,
    // If the folder is not a repository, git must not find one above it, because it would skip files.
    env: { GIT_CEILING_DIRECTORIES: path.dirname(top) },
    settings: [...(await filtersOff(top)), ['apply.whitespace', 'nowarn'], ['apply.ignoreWhitespace', 'no']],
  };
  if (base !== undefined && repository !== undefined) await refuseStranger(repository, base);
  const paths = await pathsIn(asking);
  const touched = new Set(paths);
  for (const at of paths) {
    refuseWay(top, at, touched);
    refuseFolder(top, at, touched);
  }
  if (repository === top) await refuseChanged(top, touched);
  const check = await askGit(['apply', '--check', '-'], asking);
  if (check.code !== 0) throw doesNotFit(check.stderr);
  const reviewed = await reviewDiff(paths, top, repository, asking);
  refuseActive(reviewed, new Set(allowActive));
  const allowed = reviewed.map(({ path: at, reason }) => ({ path: at, reason }));
  if (isTrial) return allowed;
  const { code, stderr } = await askGit(['apply', '-'], asking);
  // Git has checked every file, so the disk is full or another program interferes.
  if (code !== 0) throw notApplied('Git stopped halfway. Check what it changed before you try again.', stderr);
  return allowed;
}

/** A folder inside .git or .proctor is not a work tree. */
function refuseTop(top: string, repository: string | undefined): void {
  const isGits = repository !== top && top.split('/').some(isGitName);
  if (isGits || isProctors(Buffer.from(top).toString('latin1'))) {
    throw notApplied('The folder is in .git or .proctor. Use --dir to name a work tree.');
  }
}

/** The user must allow each file that runs automatically. Proctor's own files never change. */
export function refuseActive(reviewed: readonly Reviewed[], allowed: ReadonlySet<string>): void {
  const proctors = reviewed.find(({ isForbidden }) => isForbidden);
  if (proctors) throw forbidden(proctors.path);
  const refused = reviewed.filter(({ path: at }) => !allowed.has(at));
  if (refused.length === 0) return;
  const listed = refused.slice(0, LISTED_MAX).map(({ path: at, reason }) => `\n  ${printable(at)}: ${reason}`);
  const more = refused.length > LISTED_MAX ? `\n  and ${refused.length - LISTED_MAX} more` : '';
  throw notApplied(
    `Files that run automatically need review, so nothing was changed.${listed.join('')}${more}\nReview each file, then allow it with --allow-active PATH.`,
  );
}

const LISTED_MAX = 50;

function forbidden(at: string): Fault {
  return notApplied(`${printable(at)} is not applied: ${PROCTORS}.`);
}

/** Headers that make git read another file, possibly outside the tree. They cannot occur in content or binary data. */
export const MOVES = ['\ncopy from ', '\nrename from ', '\nrename old '];

/** A diff may accidentally apply to an unrelated repository. */
async function refuseStranger(repository: string, base: string): Promise<void> {
  if (await hasCommit(repository, base)) return;
  throw notApplied(
    'This repository does not contain the commit that the agent worked on. Use --dir to name the right repository, or --anyway to apply the diff here.',
  );
}

export async function hasCommit(repository: string, sha: string): Promise<boolean> {
  return (await askGit(['cat-file', '-e', `${sha}^{commit}`], { cwd: repository, asUser: true })).code === 0;
}

/** The paths that git would write, as parsed by git. */
async function pathsIn(asking: Asking): Promise<string[]> {
  const { code, stdout, stderr } = await askGit(['apply', '--numstat', '-z', '-'], asking);
  if (code !== 0) throw doesNotFit(stderr);
  return stdout
    .toString('latin1')
    .split('\0')
    .flatMap(line => /^(?:-|\d+)\t(?:-|\d+)\t(.+)$/s.exec(line)?.[1] ?? []);
}

/** A path must stay in the tree and out of `.git`, and pass through no symlink that the diff does not remove. */
function refuseWay(top: string, at: string, touched: ReadonlySet<string>): void {
  const shown = printable(pathText(at).path);
  const names = at.split('/');
  if (names.some(name => ['', '.', '..'].includes(name)))
    throw notApplied(`The diff writes outside the folder: ${shown}.`);
  if (isProctors(at)) throw forbidden(pathText(at).path);
  if (names.some(isGitName)) throw notApplied(`The diff would change git's own files: ${shown}.`);
  for (let length = 1; length < names.length; length++) {
    const above = names.slice(0, length).join('/');
    if (touched.has(above)) return;
    const stat = lstatSync(placeIn(top, above), { throwIfNoEntry: false });
    if (stat?.isSymbolicLink()) throw notApplied(`The path ${shown} passes through a symlink.`);
    if (!stat?.isDirectory()) return;
  }
}

/** Git notices too late that a folder is in the way if the diff does not empty it. */
function refuseFolder(top: string, at: string, touched: ReadonlySet<string>): void {
  const isEmptied = (folder: string): boolean => {
    const names = readdirSync(placeIn(top, folder), 'buffer').map(name => `${folder}/${name.toString('latin1')}`);
    return names.length > 0 && names.every(name => touched.has(name) || (isFolder(top, name) && isEmptied(name)));
  };
  if (isFolder(top, at) && !isEmptied(at))
    throw notApplied(`${printable(pathText(at).path)} is a folder in the target.`);
}

function isFolder(top: string, at: string): boolean {
  try {
    return lstatSync(placeIn(top, at)).isDirectory();
  } catch {
    return false;
  }
}

async function refuseChanged(top: string, paths: ReadonlySet<string>): Promise<void> {
  const changed = (await changedPaths(top)).find(at => paths.has(at));
  if (changed === undefined) return;
  throw notApplied(
    `${printable(pathText(changed).path)} has uncommitted changes. Commit or stash them, then apply the run.`,
  );
}

function doesNotFit(stderr: string): Fault {
  for (const [pattern, words] of MISFITS) {
    const [, file] = pattern.exec(stderr) ?? [];
    if (file !== undefined) return notApplied(`${printable(file)} ${words}, so nothing was changed.`, stderr);
  }
  return notApplied('The diff does not apply here, so nothing was changed.', stderr);
}

const MISFITS: readonly (readonly [RegExp, string])[] = [
  [/^error: (.+): already exists in working directory$/m, 'already exists'],
  [/^error: (.+): No such file or directory$/m, 'no longer exists'],
  [/^error: (.+): Too many levels of symbolic links$/m, 'replaces a link to itself, which git cannot do'],
  [
    /^error: (.+): (?:patch does not apply|wrong type|cannot read the current contents.*)$/m,
    'has changed since the agent started',
  ],
  [
    /^error: (?:the patch applies to|binary patch does not apply to|cannot apply binary patch to) '(.+?)'/m,
    'has changed since the agent started',
  ],
];

export function notApplied(message: string, cause?: string): Fault {
  return new Fault('not_applied', message, { cause });
}

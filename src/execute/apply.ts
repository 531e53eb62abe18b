import { lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import type { ReviewedPath } from '../contracts/agent-step/changes.ts';
import { isProctors, PROCTORS } from '../policy/active-changes.ts';
import { reviewDiff, type Reviewed } from './apply-review.ts';
import { changedPaths, filtersOff, topOf } from './clone-source.ts';
import { askGit, type Asking } from './git.ts';
import { isGitName, pathText, placeIn } from './tree.ts';

export interface Application {
  /** The diff counts its paths from the top of the repository that the folder lies in; else from the folder. */
  readonly fromTop: boolean;
  /** Only say whether it would work. */
  readonly isTrial: boolean;
  /** The commit that the diff starts from, which a repository must have to take it. */
  readonly base?: string;
  /** Files that may be changed although they run by themselves where they land, by their exact paths. */
  readonly allowActive?: readonly string[];
}

/**
 * Brings a diff into a work tree: all of it, or nothing. What is committed and staged there stays as it is, and nothing
 * that the user or the diff has configured runs. Returns the files that run by themselves and were allowed.
 */
export async function applyDiff(
  diff: Buffer,
  dir: string,
  { fromTop, isTrial, base, allowActive = [] }: Application,
): Promise<ReviewedPath[]> {
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) {
    throw new Fault('usage', 'The folder to apply the diff in is not there, or is no folder.');
  }
  if (MOVES.some(line => diff.includes(line))) {
    throw notApplied('The diff takes a file from elsewhere, which no diff of a run does.');
  }
  const folder = realpathSync(dir);
  const repository = await topOf(folder);
  const top = fromTop ? (repository ?? folder) : folder;
  refuseTop(top, repository);
  const asking: Asking = {
    cwd: top,
    asUser: true,
    input: diff,
    // Where the folder is no repository, one above it must not make git skip what lies outside of it.
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
  // It has looked at every file before: what stops it now is the disk, or somebody who works there, too.
  if (code !== 0) throw notApplied('Git stopped in the middle. Look at what it did before you try again.', stderr);
  return allowed;
}

/** Evidence and the folders of git are not work trees, whatever a diff calls its files. */
function refuseTop(top: string, repository: string | undefined): void {
  const isGits = repository !== top && top.split('/').some(isGitName);
  if (isGits || isProctors(Buffer.from(top).toString('latin1'))) {
    throw notApplied('The folder lies in .git or .proctor. Use --dir to name a work tree.');
  }
}

/** Files that run by themselves are named one by one, and those of Proctor are never changed. */
function refuseActive(reviewed: readonly Reviewed[], allowed: ReadonlySet<string>): void {
  const proctors = reviewed.find(({ isForbidden }) => isForbidden);
  if (proctors) throw forbidden(proctors.path);
  const refused = reviewed.filter(({ path: at }) => !allowed.has(at));
  if (refused.length === 0) return;
  const listed = refused.slice(0, LISTED_MAX).map(({ path: at, reason }) => `\n  ${printable(at)}: ${reason}`);
  const more = refused.length > LISTED_MAX ? `\n  and ${refused.length - LISTED_MAX} more` : '';
  throw notApplied(
    `Files that run by themselves need review, so nothing was changed.${listed.join('')}${more}\nReview each, then name it with --allow-active PATH.`,
  );
}

const LISTED_MAX = 50;

function forbidden(at: string): Fault {
  return notApplied(`${printable(at)} is not applied: ${PROCTORS}.`);
}

/**
 * Lines that make git read a file which it names nowhere else, and be it outside of the tree. Lines of content begin with
 * other characters, and binary data holds no space.
 */
const MOVES = ['\ncopy from ', '\nrename from ', '\nrename old '];

/** A diff may fit by chance where it was never meant to go. */
async function refuseStranger(repository: string, base: string): Promise<void> {
  const { code } = await askGit(['cat-file', '-e', `${base}^{commit}`], { cwd: repository, asUser: true });
  if (code === 0) return;
  throw notApplied(
    'The repository here does not have the commit that the agent worked on: it may be another one. Use --dir to name the right one, or --anyway.',
  );
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

/** A path must stay in the tree, out of `.git`, and lead through no link but one that the diff takes away, which git sees to. */
function refuseWay(top: string, at: string, touched: ReadonlySet<string>): void {
  const shown = printable(pathText(at).path);
  const names = at.split('/');
  if (names.some(name => ['', '.', '..'].includes(name)))
    throw notApplied(`The diff leads out of the folder: ${shown}.`);
  if (isProctors(at)) throw forbidden(pathText(at).path);
  if (names.some(isGitName)) throw notApplied(`The diff would change what git keeps for itself: ${shown}.`);
  for (let length = 1; length < names.length; length++) {
    const above = names.slice(0, length).join('/');
    if (touched.has(above)) return;
    const stat = lstatSync(placeIn(top, above), { throwIfNoEntry: false });
    if (stat?.isSymbolicLink()) throw notApplied(`The way to ${shown} leads through a link.`);
    if (!stat?.isDirectory()) return;
  }
}

/** Git finds out too late that a folder is in the way, if it is one that the diff does not empty. */
function refuseFolder(top: string, at: string, touched: ReadonlySet<string>): void {
  const isEmptied = (folder: string): boolean => {
    const names = readdirSync(placeIn(top, folder), 'buffer').map(name => `${folder}/${name.toString('latin1')}`);
    return names.length > 0 && names.every(name => touched.has(name) || (isFolder(top, name) && isEmptied(name)));
  };
  if (isFolder(top, at) && !isEmptied(at)) throw notApplied(`${printable(pathText(at).path)} is a folder here.`);
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
    `${printable(pathText(changed).path)} has changes that are not committed. Commit or stash them, then apply the run.`,
  );
}

/** Git names the first of the files that are not what they were. */
function doesNotFit(stderr: string): Fault {
  for (const [pattern, words] of MISFITS) {
    const [, file] = pattern.exec(stderr) ?? [];
    if (file !== undefined) return notApplied(`${printable(file)} ${words}, so nothing was changed.`, stderr);
  }
  return notApplied('The diff cannot be applied here, and nothing was changed.', stderr);
}

const MISFITS: readonly (readonly [RegExp, string])[] = [
  [/^error: (.+): already exists in working directory$/m, 'is there already'],
  [/^error: (.+): No such file or directory$/m, 'is not there any more'],
  [
    /^error: (.+): (?:patch does not apply|wrong type|cannot read the current contents.*)$/m,
    'is not as it was when the agent began',
  ],
  [
    /^error: (?:the patch applies to|binary patch does not apply to|cannot apply binary patch to) '(.+?)'/m,
    'is not as it was when the agent began',
  ],
];

function notApplied(message: string, cause?: string): Fault {
  return new Fault('not_applied', message, { cause });
}

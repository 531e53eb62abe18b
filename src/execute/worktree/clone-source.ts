import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import type { ContentHash } from '../../base/hash.ts';
import { printable } from '../../base/printable.ts';
import { type GitResult, askGit, askGits, type Asking, git, gitFailed, type Setting } from './git.ts';

export interface SourceRepository {
  /** The folder with objects and branches. For a linked work tree, it belongs to the main repository. */
  readonly gitDir: string;
  /** Relative to the objects of Proctor's git folder if the repository is in the same stage. */
  readonly objects: string;
  /** The commit that the agent starts from: HEAD, or the requested base. */
  readonly head: string;
  /** The base as requested; otherwise the current branch, or `HEAD` if it is detached. */
  readonly ref: string;
  /** The branch that names the commit; undefined if HEAD is detached or the base is not a branch. */
  readonly branch: string | undefined;
  readonly branches: readonly string[];
  /** The path of the folder relative to the top of the work tree; `.` for the top. */
  readonly below: string;
  readonly format: 'sha1' | 'sha256';
  readonly isShallow: boolean;
  /** Some objects are in another repository or on a server. */
  readonly isScattered: boolean;
  /** The hash of the bundle that the repository comes from. */
  readonly bundle?: ContentHash;
  /** Names of settings that affect how the repository is read. */
  readonly settings: readonly string[];
}

/** What differs between a work tree and its commit. */
export interface Uncommitted {
  readonly changed: number;
  readonly untracked: number;
}

/** The repository that contains a folder; undefined if there is none. Throws if an agent cannot work on it. */
export async function sourceAt(folder: string, base?: string): Promise<SourceRepository | undefined> {
  const stat = statSync(folder, { throwIfNoEntry: false });
  if (!stat) throw new Fault('usage', "The agent's folder does not exist.");
  if (!stat.isDirectory()) throw new Fault('usage', "The agent's folder is a file. Specify a folder.");
  const asking: Asking = { cwd: folder, asUser: true };
  if (base !== undefined) checkBase(base);
  const [found, configured, refs] = (await askGits([factsAbout(base ?? 'HEAD'), SETTINGS, BRANCHES], asking)) as [
    GitResult,
    GitResult,
    GitResult,
  ];
  if (found.stdout.length === 0) {
    if (hasGitAbove(folder)) throw new Fault('usage', "The agent's folder has a .git that git cannot read.");
    if (base !== undefined)
      throw new Fault('usage', "The agent's folder is not in a repository, so --base cannot name a commit.");
    return undefined;
  }
  const [isBare, isInside, isShallow, format, up = '', ...rest] = lineOf(found.stdout).split('\n');
  if (isBare === 'true') throw new Fault('usage', "The agent's folder is a bare repository, which has no files.");
  if (isInside !== 'true')
    throw new Fault('usage', "The agent's folder is inside .git. Specify a folder in the work tree.");
  const head = rest.at(-1);
  if (base !== undefined && (found.code !== 0 || !isObjectName(head))) throw unknownBase(base);
  if (found.code !== 0 || head === undefined) {
    const isBorn = (await askGit(['rev-parse', '--verify', '--quiet', 'HEAD'], asking)).code === 0;
    throw new Fault(
      'usage',
      isBorn
        ? 'The repository is damaged: its current commit cannot be read.'
        : 'The repository has no commits yet. Commit something first.',
    );
  }
  if (refs.code !== 0) throw gitFailed(BRANCHES, refs.stderr);
  const branches = lineOf(refs.stdout)
    .split('\n')
    .filter(line => line !== '');
  const names = branches.map(line => line.slice(1));
  const current = branches.find(line => line.startsWith('*'))?.slice('*refs/heads/'.length) ?? (await branchAt(folder));
  const branch = base === undefined ? current : await branchNamed(base, head, names, asking);
  const settings = namesIn(configured);
  const gitDir = rest.slice(0, -1).join('\n');
  return {
    gitDir,
    objects: path.join(gitDir, 'objects'),
    head,
    ref: base ?? current ?? 'HEAD',
    branch,
    branches: names,
    below: lastFolders(folder, up.split('/').length - 1),
    format: format === 'sha256' ? 'sha256' : 'sha1',
    isShallow: isShallow === 'true',
    isScattered: isScattered(gitDir, settings),
    settings,
  };
}

/**
 * A repository, bare or not. Only its commits matter. `place` must be its top or its git folder, because git must not
 * find another repository above it.
 */
export async function sourceIn(place: string, base?: string): Promise<SourceRepository> {
  if (base !== undefined) checkBase(base);
  const folder = realpathSync(place);
  const asking: Asking = { cwd: folder, asUser: true, env: { GIT_CEILING_DIRECTORIES: path.dirname(folder) } };
  const facts = [
    'rev-parse',
    '--is-shallow-repository',
    '--show-object-format',
    ...COMMON_DIR,
    `${base ?? 'HEAD'}^{commit}`,
  ];
  const [found, configured, refs] = (await askGits([facts, SETTINGS, BRANCHES], asking)) as [
    GitResult,
    GitResult,
    GitResult,
  ];
  if (found.stdout.length === 0 || refs.code !== 0)
    throw new Fault('usage', 'The repository is neither a git repository nor a git bundle.');
  const [isShallow, format, ...rest] = lineOf(found.stdout).split('\n');
  const head = rest.at(-1);
  if (found.code !== 0 || !isObjectName(head)) throw await unknownRef(base, asking);
  const lines = lineOf(refs.stdout).split('\n');
  const branches = lines.filter(line => line !== '').map(line => line.slice(1));
  const current = lines.find(line => line.startsWith('*'))?.slice('*refs/heads/'.length);
  const gitDir = rest.slice(0, -1).join('\n');
  const settings = namesIn(configured);
  return {
    gitDir,
    objects: path.join(gitDir, 'objects'),
    head,
    ref: base ?? current ?? 'HEAD',
    branch: base === undefined ? current : await branchNamed(base, head, branches, asking),
    branches,
    below: '.',
    format: format === 'sha256' ? 'sha256' : 'sha1',
    isShallow: isShallow === 'true',
    isScattered: isScattered(gitDir, settings),
    settings,
  };
}

async function unknownRef(base: string | undefined, asking: Asking): Promise<Fault> {
  const args = ['for-each-ref', '--format=%(refname:lstrip=2)', `--count=${NAMED_MAX + 1}`, 'refs/heads', 'refs/tags'];
  const names = lineOf((await askGit(args, asking)).stdout)
    .split('\n')
    .filter(name => name !== '')
    .map(name => printable(name));
  const more = names.length > NAMED_MAX ? ' and more' : '';
  const has =
    names.length === 0 ? 'It has no branch or tag.' : `It has ${names.slice(0, NAMED_MAX).join(', ')}${more}.`;
  const lacks =
    base === undefined ? 'The repository has no current commit' : `The repository has no commit "${printable(base)}"`;
  return new Fault('usage', `${lacks}. ${has} Name one with --base.`);
}

const NAMED_MAX = 20;

/** Each fact is one line, except the folder, whose name may contain line feeds. So it is second to last. */
function factsAbout(ref: string): string[] {
  return [
    ...'rev-parse --is-bare-repository --is-inside-work-tree --is-shallow-repository --show-object-format'.split(' '),
    '--show-cdup',
    ...COMMON_DIR,
    `${ref}^{commit}`,
  ];
}

const COMMON_DIR = ['--path-format=absolute', '--git-common-dir', '--verify', '--quiet'];

/** Accepts names and ancestors only. A search such as `:/text` may take long, and a range is not one commit. */
function checkBase(base: string): void {
  if (BASE.test(base) && !base.includes('..')) return;
  throw new Fault(
    'usage',
    '--base needs the name of one commit: a branch, a tag, a commit ID, or an ancestor such as HEAD~2.',
  );
}

const BASE = /^[^-^~/.\s:*?[\\{\p{Cc}\p{Cs}][^\s:*?[\\{\p{Cc}\p{Cs}]{0,199}$/u;

function unknownBase(base: string): Fault {
  return new Fault(
    'usage',
    `The repository has no commit "${printable(base)}". Use a branch, a tag, a commit ID, or an ancestor such as HEAD~2.`,
  );
}

function isObjectName(text: string | undefined): text is string {
  return text !== undefined && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}

/** The branch that a base names, without `refs/heads/`. A tag of the same name wins over a branch. */
async function branchNamed(
  base: string,
  head: string,
  branches: readonly string[],
  asking: Asking,
): Promise<string | undefined> {
  const ref = [base, `refs/heads/${base}`].find(name => branches.includes(name));
  if (ref === undefined) return undefined;
  const { code, stdout } = await askGit(['rev-parse', '--verify', '--quiet', `${ref}^{commit}`], asking);
  return code === 0 && lineOf(stdout) === head ? ref.slice('refs/heads/'.length) : undefined;
}

/** Used if HEAD is not among the listed branches: it is detached, or there are more than 10,000 branches. */
async function branchAt(folder: string): Promise<string | undefined> {
  const { code, stdout } = await askGit(['symbolic-ref', '--quiet', 'HEAD'], { cwd: folder, asUser: true });
  return code === 0 ? /^refs\/heads\/(.+)$/.exec(lineOf(stdout))?.[1] : undefined;
}

/** The last `count` components of a path. */
function lastFolders(folder: string, count: number): string {
  return count === 0 ? '.' : realpathSync(folder).split('/').slice(-count).join('/');
}

const BRANCHES = ['for-each-ref', '--format=%(HEAD)%(refname)', '--count=10000', 'refs/heads'];

/** Removes the final line feed of git's output. */
function lineOf(answer: Buffer): string {
  return answer.toString().replace(/\n$/, '');
}

function hasGitAbove(folder: string): boolean {
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    if (existsSync(path.join(at, '.git'))) return true;
    if (at === path.dirname(at)) return false;
  }
}

function isScattered(gitDir: string, settings: readonly string[]): boolean {
  return hasText(path.join(gitDir, 'objects', 'info', 'alternates')) || settings.some(key => PROMISOR.test(key));
}

function hasText(file: string): boolean {
  try {
    return readFileSync(file, 'utf8').trim() !== '';
  } catch {
    return false;
  }
}

export async function uncommittedIn(folder: string, { settings }: SourceRepository): Promise<Uncommitted> {
  const entries = await statusOf(folder, withoutFilters(settings));
  return {
    changed: entries.filter(isTracked).length,
    untracked: entries.filter(entry => entry.startsWith('? ') && !/(?:^\? |\/)\.proctor\/$/.test(entry)).length,
  };
}

/** Tracked files that differ from HEAD, relative to the top of the repository, one character per byte. */
export async function changedPaths(folder: string): Promise<string[]> {
  // The path follows eight fields, or ten for a conflict.
  return (await statusOf(folder, await filtersOff(folder))).filter(isTracked).map(entry =>
    entry
      .split(' ')
      .slice(entry.startsWith('u') ? 10 : 8)
      .join(' '),
  );
}

function isTracked(entry: string): boolean {
  return /^[12u] /.test(entry);
}

/** Reads the status without running configured filters and without writing to the index. */
async function statusOf(folder: string, settings: readonly Setting[]): Promise<string[]> {
  const args = 'status --porcelain=v2 -z --untracked-files=normal --ignore-submodules=all --no-renames'.split(' ');
  return (await git(args, { cwd: folder, asUser: true, settings })).toString('latin1').split('\0');
}

/** The top of the work tree that contains a folder; undefined if there is none. */
export async function topOf(folder: string): Promise<string | undefined> {
  const { code, stdout } = await askGit(['rev-parse', '--show-toplevel'], { cwd: folder, asUser: true });
  return code === 0 ? lineOf(stdout) : undefined;
}

/** Settings that disable every configured filter. */
export async function filtersOff(folder: string): Promise<Setting[]> {
  return withoutFilters(namesIn(await askGit(SETTINGS, { cwd: folder, asUser: true })));
}

/** Filter settings, and settings that show whether objects are elsewhere. */
const SETTINGS = ['config', '-z', '--name-only', '--get-regexp', String.raw`^(filter|extensions|remote)\.`];

function namesIn({ stdout }: GitResult): string[] {
  return stdout.toString().split('\0');
}

const PROMISOR = /^(?:extensions\.partialclone|remote\..*\.promisor)$/s;

function withoutFilters(settings: readonly string[]): Setting[] {
  const names = settings.flatMap(key => /^(filter\..+)\.[^.]+$/s.exec(key)?.[1] ?? []);
  return [...new Set(names)].flatMap((name): Setting[] => [
    [`${name}.clean`, ''],
    [`${name}.smudge`, ''],
    [`${name}.process`, ''],
    [`${name}.required`, 'false'],
  ]);
}

import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { type Answer, askGit, git, type Setting } from './git.ts';

/** The user's repository, as far as a clone needs to know it. */
export interface Source {
  /** The folder of its objects and branches; of a linked work tree, that of the repository it belongs to. */
  readonly gitDir: string;
  readonly objects: string;
  readonly head: string;
  /** The branch it is on; undefined where HEAD is detached. */
  readonly branch: string | undefined;
  readonly branches: readonly string[];
  /** Where the folder lies below the top of the work tree; `.` for the top. */
  readonly below: string;
  readonly format: 'sha1' | 'sha256';
  readonly isShallow: boolean;
  /** Some of its objects lie in another repository, or on a server. */
  readonly isScattered: boolean;
  /** Tracked files that differ from HEAD. */
  readonly changed: number;
  readonly untracked: number;
}

/** The repository that a folder lies in; undefined where there is none. Refuses what nobody can work on. */
export async function sourceAt(folder: string): Promise<Source | undefined> {
  const stat = statSync(folder, { throwIfNoEntry: false });
  if (!stat) throw new Fault('usage', 'The folder to work in does not exist.');
  if (!stat.isDirectory()) throw new Fault('usage', 'The folder to work in is a file.');
  const ask = (...args: string[]): Promise<Answer> => askGit(args, { cwd: folder, asUser: true });
  const found = await ask('rev-parse', '--is-bare-repository', '--is-inside-work-tree');
  if (found.code !== 0) {
    if (hasGitAbove(folder)) throw new Fault('usage', 'The folder to work in has a .git that git cannot read.');
    return undefined;
  }
  const [isBare, isInside] = found.stdout.toString().split('\n');
  if (isBare === 'true') throw new Fault('usage', 'The folder to work in is a bare repository, without files.');
  if (isInside !== 'true') throw new Fault('usage', 'The folder to work in is a part of .git, not of the work tree.');
  const said = async (...args: string[]): Promise<string> => lineOf(await git(args, { cwd: folder, asUser: true }));
  const head = await ask('rev-parse', '--verify', '--quiet', 'HEAD^{commit}');
  if (head.code !== 0) {
    const isBorn = (await ask('rev-parse', '--verify', '--quiet', 'HEAD')).code === 0;
    throw new Fault(
      'usage',
      isBorn
        ? 'The repository is damaged: the commit it is at cannot be read.'
        : 'The repository has no commit yet. Commit something first.',
    );
  }
  const [gitDir, branch, branches, prefix, format, isShallow, promisor, changes] = await Promise.all([
    said('rev-parse', '--path-format=absolute', '--git-common-dir'),
    ask('symbolic-ref', '--quiet', '--short', 'HEAD'),
    said('for-each-ref', '--format=%(refname)', `--count=${BRANCHES_MAX}`, 'refs/heads'),
    said('rev-parse', '--show-prefix'),
    said('rev-parse', '--show-object-format'),
    said('rev-parse', '--is-shallow-repository'),
    ask('config', '--get-regexp', String.raw`^(extensions\.partialclone|remote\..*\.promisor)$`),
    changesIn(folder),
  ]);
  const objects = path.join(gitDir, 'objects');
  return {
    gitDir,
    objects,
    head: lineOf(head.stdout),
    branch: branch.code === 0 ? lineOf(branch.stdout) : undefined,
    branches: branches.split('\n').filter(name => name !== ''),
    below: prefix.replace(/\/$/, '') || '.',
    format: format === 'sha256' ? 'sha256' : 'sha1',
    isShallow: isShallow === 'true',
    isScattered: hasText(path.join(objects, 'info', 'alternates')) || promisor.code === 0,
    ...changes,
  };
}

const BRANCHES_MAX = 10_000;

/** Without the one line feed that git ends an answer with. */
function lineOf(answer: Buffer): string {
  return answer.toString().replace(/\n$/, '');
}

function hasGitAbove(folder: string): boolean {
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    if (existsSync(path.join(at, '.git'))) return true;
    if (at === path.dirname(at)) return false;
  }
}

function hasText(file: string): boolean {
  try {
    return readFileSync(file, 'utf8').trim() !== '';
  } catch {
    return false;
  }
}

async function changesIn(folder: string): Promise<{ changed: number; untracked: number }> {
  const entries = await statusOf(folder);
  return {
    changed: entries.filter(isTracked).length,
    untracked: entries.filter(entry => entry.startsWith('? ') && !/(?:^\? |\/)\.proctor\/$/.test(entry)).length,
  };
}

/** Tracked files that differ from HEAD, as bytes from the top of the repository. */
export async function changedPaths(folder: string): Promise<string[]> {
  // Before the path: eight words of an entry, ten of one in conflict.
  return (await statusOf(folder)).filter(isTracked).map(entry =>
    entry
      .split(' ')
      .slice(entry.startsWith('u') ? 10 : 8)
      .join(' '),
  );
}

function isTracked(entry: string): boolean {
  return /^[12u] /.test(entry);
}

/** Looks at the user's work tree without running what its settings ask for, and without writing to its index. */
async function statusOf(folder: string): Promise<string[]> {
  const args = [
    'status',
    '--porcelain=v2',
    '-z',
    '--untracked-files=normal',
    '--ignore-submodules=all',
    '--no-renames',
  ];
  const settings = await filtersOff(folder);
  return (await git(args, { cwd: folder, asUser: true, settings })).toString('latin1').split('\0');
}

/** The top of the work tree that a folder lies in; undefined where it lies in none. */
export async function topOf(folder: string): Promise<string | undefined> {
  const { code, stdout } = await askGit(['rev-parse', '--show-toplevel'], { cwd: folder, asUser: true });
  return code === 0 ? lineOf(stdout) : undefined;
}

/** Settings that leave no filter anything to run, whatever attributes name it. */
export async function filtersOff(folder: string): Promise<Setting[]> {
  const { stdout } = await askGit(['config', '-z', '--name-only', '--get-regexp', '^filter\\.'], {
    cwd: folder,
    asUser: true,
  });
  const names = stdout
    .toString()
    .split('\0')
    .flatMap(key => /^(filter\..+)\.[^.]+$/s.exec(key)?.[1] ?? []);
  return [...new Set(names)].flatMap((name): Setting[] => [
    [`${name}.clean`, ''],
    [`${name}.smudge`, ''],
    [`${name}.process`, ''],
    [`${name}.required`, 'false'],
  ]);
}

import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { fileHash } from '../../base/file-hash.ts';
import type { ContentHash } from '../../base/hash.ts';
import { copyFolder } from './clone-copy.ts';
import { BASE_BRANCH, indexed, makeGitDir, makeTrusted } from './clone-folder.ts';
import { packed } from './clone-objects.ts';
import { sourceOf } from './clone-from.ts';
import { type SourceRepository, type Uncommitted, uncommittedIn } from './clone-source.ts';
import { type GitResult, askGits, git, gitFailed } from './git.ts';
import type { PreparedFiles } from './prepared-files.ts';
import { commitOf } from './tree-import.ts';
import { listingOf } from './tree-state.ts';
import { isWorldReadable } from '../host/readable.ts';

/** An agent's private work tree, with facts that the agent cannot change. */
export interface Clone {
  readonly kind: 'clone' | 'copy';
  /** Where the tree was created. For a writable tree, the agent sees a copy of it on the disk of its sandbox. */
  readonly tree: string;
  /** Proctor's own git folder, with the base commit. Nothing from the sandbox gets into it except through Proctor. */
  readonly trusted: string;
  readonly format: 'sha1' | 'sha256';
  readonly baseSha: string;
  /** The commit of the repository, if Proctor made `baseSha` from it. */
  readonly baseFrom?: string;
  /** The hash of the bundle that the repository comes from. */
  readonly bundle?: ContentHash;
  /** The requested base; otherwise the user's current branch, or `HEAD` if it is detached. */
  readonly baseRef: string;
  readonly branch: string;
  /** Full names of the refs in the clone, all at the base commit. */
  readonly refs: readonly string[];
  /** Full names of the user's branches, which the agent must not create or move. */
  readonly protectedRefs: readonly string[];
  /** The folder to start in, relative to the top; `.` for the top. */
  readonly startIn: string;
  /** All files in base, as printed by `git ls-tree`. */
  readonly baseFiles: Buffer;
  /** What a setup command left that is not part of the base commit: ignored files such as dependencies. */
  readonly prepared?: PreparedFiles;
  /** The hash of the original index. */
  readonly indexSha256: ContentHash | undefined;
  /** The paths that the sandbox must mount read-only. */
  readonly mounts: readonly { readonly source: string; readonly target: string }[];
  readonly staged: readonly string[];
  readonly notes: readonly string[];
}

export interface CloneOptions {
  readonly runId: string;
  /** Ignores uncommitted changes, which the agent does not see. */
  readonly allowDirty: boolean;
  /** Starts from this commit instead of HEAD. The work tree then does not matter, so Proctor does not look at it. */
  readonly base?: string;
  /** The agent cannot change anything, so the sandbox mounts the tree directly from the stage. */
  readonly readOnly: boolean;
  /** Copies the history instead of mounting objects from the user's repository. */
  readonly selfContained?: boolean;
}

/** A folder to clone or copy, a repository or bundle whose commits alone matter, or nothing. */
export type CloneFrom = string | { readonly repository: string } | undefined;

/**
 * Creates a private work tree for an agent: a clone of the repository, a copy of the folder with a new repository, or
 * an empty repository. Runs nothing that the user has configured, and reveals nothing about this machine.
 */
export async function cloneFor(from: CloneFrom, stage: string, options: CloneOptions): Promise<Clone> {
  const tree = path.join(stage, options.readOnly ? 'work' : 'roots');
  const trusted = path.join(stage, 'trusted.git');
  const source = await sourceOf(from, stage, options.base);
  const folder = typeof from === 'string' ? from : undefined;
  try {
    // The stage's standard folders, which do not belong to the tree.
    if (options.readOnly) for (const name of ['input', 'output']) removeEmpty(path.join(tree, name));
    makeTrusted(trusted, source);
    const made = source
      ? await cloned(source, folder, tree, trusted, options)
      : await copied(folder, tree, trusted, options);
    // `staged` is empty, because mounting entries one by one would follow symlinks.
    return { ...made, tree, trusted, indexSha256: fileHash(path.join(tree, '.git', 'index')), staged: [] };
  } catch (cause) {
    if (cause instanceof Fault && cause.code !== 'git_failed') throw cause;
    throw new Fault('clone_failed', 'The folder could not be copied for the agent.', { cause });
  }
}

/**
 * Throws if the source cannot be cloned, before anything is created. Returns the commit to start from; undefined if
 * there is no repository.
 */
export async function checkSource(from: CloneFrom, allowDirty: boolean, base?: string): Promise<string | undefined> {
  const source = await sourceOf(from, undefined, base);
  if (source && typeof from === 'string' && !allowDirty && base === undefined)
    refuseDirty(await uncommittedIn(from, source));
  return source?.head;
}

function removeEmpty(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
}

/** Where the sandbox mounts the user's git objects. */
const OBJECTS_INSIDE = '/agent/objects';

type Made = Omit<Clone, 'tree' | 'trusted' | 'staged' | 'indexSha256'>;

async function cloned(
  source: SourceRepository,
  folder: string | undefined,
  tree: string,
  trusted: string,
  options: CloneOptions,
): Promise<Made> {
  const { head, format, branch: current } = source;
  const isOwn =
    options.selfContained === true ||
    source.bundle !== undefined ||
    source.isShallow ||
    source.isScattered ||
    !isWorldReadable(source.objects);
  const branch = branchFor(options.runId, current);
  const refs = [branch, ...(current === undefined ? [] : [current])].map(name => `refs/heads/${name}`);
  const gitDir = makeGitDir(tree, { format, branch, refs, baseSha: head });
  const looking =
    folder !== undefined && options.base === undefined ? uncommittedIn(folder, source) : Promise.resolve(CLEAN);
  const opened = looking.then(found => (options.allowDirty ? undefined : refuseDirty(found)));
  const baseFiles = await checkOut(trusted, tree, head, opened);
  if (isOwn) await packed(source, gitDir);
  else writeFileSync(path.join(gitDir, 'objects', 'info', 'alternates'), `${OBJECTS_INSIDE}\n`);
  startFolder(tree, source.below);
  return {
    kind: 'clone',
    format,
    baseSha: head,
    ...(source.bundle && { bundle: source.bundle }),
    baseRef: source.ref,
    branch,
    refs,
    protectedRefs: source.branches,
    startIn: source.below,
    mounts: isOwn ? [] : [{ source: source.objects, target: OBJECTS_INSIDE }],
    notes: notesOf(await looking),
    baseFiles,
  };
}

const CLEAN: Uncommitted = { changed: 0, untracked: 0 };

function refuseDirty({ changed }: Uncommitted): void {
  if (changed === 0) return;
  const them = changed === 1 ? '1 file' : `${changed} files`;
  throw new Fault(
    'usage',
    `The work tree has uncommitted changes in ${them}. Commit or stash them first, or use --allow-dirty to let the agent work on the last commit without them.`,
  );
}

function notesOf({ changed, untracked }: Uncommitted): string[] {
  return [
    ...(changed > 0 ? [`The agent does not see ${many(changed, 'uncommitted change')}.`] : []),
    ...(untracked > 0 ? [`The agent does not see ${many(untracked, 'untracked entry', 'untracked entries')}.`] : []),
  ];
}

function many(count: number, one: string, more = `${one}s`): string {
  return `${count} ${count === 1 ? one : more}`;
}

/** Creates a repository with one commit, which has the files of the folder, or none. */
async function copied(
  folder: string | undefined,
  tree: string,
  trusted: string,
  { runId }: CloneOptions,
): Promise<Made> {
  const { entries, notes } = folder === undefined ? { entries: [], notes: [] } : await copyFolder(folder, tree);
  const branch = branchFor(runId, BASE_BRANCH);
  const baseSha = await commitOf(trusted, tree, { message: 'the folder as it was', deleted: [], put: entries });
  const refs = [branch, BASE_BRANCH].map(name => `refs/heads/${name}`);
  const gitDir = makeGitDir(tree, { format: 'sha1', branch, refs, baseSha });
  await git(['read-tree', baseSha], indexed(trusted, gitDir));
  const baseFiles = await git(listingOf(baseSha), { gitDir: trusted });
  await packed({ gitDir: trusted, head: baseSha, isShallow: false }, gitDir);
  return {
    kind: 'copy',
    format: 'sha1',
    baseSha,
    baseRef: BASE_BRANCH,
    branch,
    refs,
    protectedRefs: [`refs/heads/${BASE_BRANCH}`],
    startIn: '.',
    mounts: [],
    notes,
    baseFiles,
  };
}

/** A branch named `proctor` rules out branch names below `proctor/`. */
function branchFor(runId: string, current: string | undefined): string {
  return current === 'proctor' ? `proctor-${runId}` : `proctor/${runId}`;
}

/** Lists the files of the commit, and checks it out byte for byte after `opened` has resolved. Returns the list. */
async function checkOut(trusted: string, tree: string, head: string, opened: Promise<void>): Promise<Buffer> {
  const steps = [['read-tree', head], listingOf(head), ['checkout-index', '--all', '--force', '--quiet']];
  const asking = { ...indexed(trusted, path.join(tree, '.git')), workTree: tree, cwd: tree };
  const answers = await askGits(steps, asking, { before: 2, opened });
  for (const [index, { code, stderr }] of answers.entries())
    if (code !== 0) throw gitFailed(steps[index] as string[], stderr);
  return (answers[1] as GitResult).stdout;
}

/** Creates the start folder, which is missing from the clone if it has no committed files. */
function startFolder(tree: string, below: string): void {
  try {
    mkdirSync(path.join(tree, below), { recursive: true });
  } catch (cause) {
    throw new Fault('usage', "The agent's folder is not a folder in the commit.", { cause });
  }
}

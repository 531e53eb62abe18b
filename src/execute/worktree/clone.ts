import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { fileHash } from '../../base/file-hash.ts';
import type { ContentHash } from '../../base/hash.ts';
import { copyFolder } from './clone-copy.ts';
import { packed } from './clone-objects.ts';
import { type SourceRepository, sourceAt, type Uncommitted, uncommittedIn } from './clone-source.ts';
import { type GitResult, askGits, type Asking, git, gitFailed } from './git.ts';
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

/**
 * Creates a private work tree for an agent: a clone of the repository that contains the folder, or a copy of the folder
 * with a new repository. Runs nothing that the user has configured, and reveals nothing about this machine.
 */
export async function cloneFor(folder: string, stage: string, options: CloneOptions): Promise<Clone> {
  const tree = path.join(stage, options.readOnly ? 'work' : 'roots');
  const trusted = path.join(stage, 'trusted.git');
  const source = await sourceAt(folder, options.base);
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

/** Throws if the folder cannot be cloned, before anything is created. */
export async function checkSource(folder: string, allowDirty: boolean, base?: string): Promise<void> {
  const source = await sourceAt(folder, base);
  if (source && !allowDirty && base === undefined) refuseDirty(await uncommittedIn(folder, source));
}

function removeEmpty(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
}

/** Where the sandbox mounts the user's git objects. */
const OBJECTS_INSIDE = '/agent/objects';

type Made = Omit<Clone, 'tree' | 'trusted' | 'staged' | 'indexSha256'>;

async function cloned(
  source: SourceRepository,
  folder: string,
  tree: string,
  trusted: string,
  options: CloneOptions,
): Promise<Made> {
  const { head, format, branch: current } = source;
  const isOwn =
    options.selfContained === true || source.isShallow || source.isScattered || !isWorldReadable(source.objects);
  const branch = branchFor(options.runId, current);
  const refs = [branch, ...(current === undefined ? [] : [current])].map(name => `refs/heads/${name}`);
  const gitDir = makeGitDir(tree, { format, branch, refs, baseSha: head });
  const looking = options.base === undefined ? uncommittedIn(folder, source) : Promise.resolve(CLEAN);
  const opened = looking.then(found => (options.allowDirty ? undefined : refuseDirty(found)));
  const baseFiles = await checkOut(trusted, tree, head, opened);
  if (isOwn) await packed(source, gitDir);
  else writeFileSync(path.join(gitDir, 'objects', 'info', 'alternates'), `${OBJECTS_INSIDE}\n`);
  startFolder(tree, source.below);
  return {
    kind: 'clone',
    format,
    baseSha: head,
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

async function copied(folder: string, tree: string, trusted: string, { runId }: CloneOptions): Promise<Made> {
  const { entries, notes } = await copyFolder(folder, tree);
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

const BASE_BRANCH = 'main';

/** A branch named `proctor` rules out branch names below `proctor/`. */
function branchFor(runId: string, current: string | undefined): string {
  return current === 'proctor' ? `proctor-${runId}` : `proctor/${runId}`;
}

function makeGitDir(
  tree: string,
  made: { format: 'sha1' | 'sha256'; branch: string; refs: readonly string[]; baseSha: string },
): string {
  const gitDir = path.join(tree, '.git');
  const { format, branch, refs, baseSha } = made;
  writeGitDir(gitDir, branch, configFor(format));
  // Written directly, because git would look for the commit, whose objects do not exist yet.
  writeFileSync(path.join(gitDir, 'packed-refs'), packedRefs(refs, baseSha));
  return gitDir;
}

/** Writes a minimal git folder. `git init` would take as long as all other git commands together. */
function writeGitDir(gitDir: string, branch: string, config: string): void {
  for (const folder of ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags'])
    mkdirSync(path.join(gitDir, folder), { recursive: true });
  writeFileSync(path.join(gitDir, 'config'), config);
  writeFileSync(path.join(gitDir, 'HEAD'), `ref: refs/heads/${branch}\n`);
}

function packedRefs(refs: readonly string[], baseSha: string): string {
  const lines = [...refs].sort(byBytes).map(ref => `${baseSha} ${ref}\n`);
  return `# pack-refs with: peeled fully-peeled sorted \n${lines.join('')}`;
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** The configuration of every clone: commits work, and git removes no object that Proctor needs later. */
export function configFor(format: 'sha1' | 'sha256'): string {
  return [
    ...coreFor(format, false),
    '[user]',
    '\tname = proctor-agent',
    '\temail = agent@proctor.invalid',
    '[gc]',
    '\tauto = 0',
    '',
  ].join('\n');
}

function coreFor(format: 'sha1' | 'sha256', isBare: boolean): string[] {
  const isPlain = format === 'sha1';
  return [
    '[core]',
    `\trepositoryformatversion = ${isPlain ? 0 : 1}`,
    '\tfilemode = true',
    `\tbare = ${isBare}`,
    ...(isBare ? [] : ['\tlogallrefupdates = true']),
    ...(isPlain ? [] : ['[extensions]', `\tobjectformat = ${format}`]),
  ];
}

/** Creates a bare git folder that reads the user's objects and ignores all attributes. */
export function makeTrusted(trusted: string, source: Pick<SourceRepository, 'format' | 'objects'> | undefined): void {
  writeGitDir(trusted, BASE_BRANCH, `${coreFor(source?.format ?? 'sha1', true).join('\n')}\n`);
  mkdirSync(path.join(trusted, 'info'));
  writeFileSync(path.join(trusted, 'info', 'attributes'), ATTRIBUTES_OFF);
  if (source) writeFileSync(path.join(trusted, 'objects', 'info', 'alternates'), `${JSON.stringify(source.objects)}\n`);
}

const ATTRIBUTES_OFF =
  '* !text !eol !crlf !ident !filter !diff !merge !whitespace !working-tree-encoding !conflict-marker-size\n';

/** Checks out the commit byte for byte, after `opened` has resolved. Returns the list of files. */
async function checkOut(trusted: string, tree: string, head: string, opened: Promise<void>): Promise<Buffer> {
  const steps = [['read-tree', head], ['checkout-index', '--all', '--force', '--quiet'], listingOf(head)];
  const asking = { ...indexed(trusted, path.join(tree, '.git')), workTree: tree, cwd: tree };
  const answers = await askGits(steps, asking, { before: 1, opened });
  for (const [index, { code, stderr }] of answers.entries())
    if (code !== 0) throw gitFailed(steps[index] as string[], stderr);
  return (answers.at(-1) as GitResult).stdout;
}

function indexed(trusted: string, gitDir: string): Asking {
  return { gitDir: trusted, env: { GIT_INDEX_FILE: path.join(gitDir, 'index') }, timeoutMs: CHECKOUT_MS };
}

const CHECKOUT_MS = 600_000;

/** Creates the start folder, which is missing from the clone if it has no committed files. */
function startFolder(tree: string, below: string): void {
  try {
    mkdirSync(path.join(tree, below), { recursive: true });
  } catch (cause) {
    throw new Fault('usage', "The agent's folder is not a folder in the commit.", { cause });
  }
}

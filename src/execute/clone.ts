import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { fileHash } from '../base/file-hash.ts';
import type { ContentHash } from '../base/hash.ts';
import { copyFolder } from './clone-copy.ts';
import { packed } from './clone-objects.ts';
import { type Source, sourceAt, type Uncommitted, uncommittedIn } from './clone-source.ts';
import { type Answer, askGits, type Asking, git, gitFailed } from './git.ts';
import { commitOf } from './tree-import.ts';
import { listingOf } from './tree-state.ts';
import { isForOthers } from './readable.ts';

/** The tree that an agent gets for itself, and what we know of it that nothing inside can change. */
export interface Clone {
  readonly kind: 'clone' | 'copy';
  /** Where it was laid out. A writable one is seen by the agent on the disk of its sandbox, as a copy of this. */
  readonly tree: string;
  /** A git dir of ours that knows base. Nothing of the sandbox is ever in it but what we put there. */
  readonly trusted: string;
  readonly format: 'sha1' | 'sha256';
  readonly baseSha: string;
  /** The branch the user is on; `HEAD` where it is none. */
  readonly baseRef: string;
  /** The branch of the run, which is checked out. */
  readonly branch: string;
  /** Full names of the user's branches, which are not the agent's to move or make. */
  readonly protectedRefs: readonly string[];
  /** The folder to start in, below the top; `.` for the top. */
  readonly startIn: string;
  /** All files of base, as git lists them. */
  readonly baseFiles: Buffer;
  /** Of the index as it was laid out. */
  readonly indexSha256: ContentHash | undefined;
  /** What the sandbox must show, read-only. */
  readonly mounts: readonly { readonly source: string; readonly target: string }[];
  readonly staged: readonly string[];
  /** What the user should know: sentences. */
  readonly notes: readonly string[];
}

export interface CloneOptions {
  readonly runId: string;
  /** Changes that are not committed are left where they are, and the agent does not see them. */
  readonly allowDirty: boolean;
  /** The agent may change nothing, so the tree is mounted from the stage as it is. */
  readonly readOnly: boolean;
  /** Nothing of the user's repository is mounted: its history is copied. */
  readonly selfContained?: boolean;
}

/**
 * Gives an agent a tree of its own: a clone of the repository that a folder lies in, or a copy of the folder with a
 * repository made in it. Nothing the user has configured runs, and nothing in it tells of this machine.
 */
export async function cloneFor(folder: string, stage: string, options: CloneOptions): Promise<Clone> {
  const tree = path.join(stage, options.readOnly ? 'work' : 'roots');
  const trusted = path.join(stage, 'trusted.git');
  const source = await sourceAt(folder);
  try {
    // Made for programs that have no tree of their own.
    if (options.readOnly) for (const name of ['input', 'output']) removeEmpty(path.join(tree, name));
    makeTrusted(trusted, source);
    const made = source
      ? await cloned(source, folder, tree, trusted, options)
      : await copied(folder, tree, trusted, options);
    // Not by name: what is mounted by its own name is followed, where it is a link.
    return { ...made, tree, trusted, indexSha256: fileHash(path.join(tree, '.git', 'index')), staged: [] };
  } catch (cause) {
    if (cause instanceof Fault && cause.code !== 'git_failed') throw cause;
    throw new Fault('clone_failed', 'The folder could not be copied for the agent.', { cause });
  }
}

/** Refuses a folder that could not be cloned, before anything is made. */
export async function checkSource(folder: string, allowDirty: boolean): Promise<void> {
  const source = await sourceAt(folder);
  if (source && !allowDirty) refuseDirty(await uncommittedIn(folder, source));
}

function removeEmpty(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
}

/** Where the user's objects are seen inside. */
const OBJECTS_INSIDE = '/agent/objects';

type Made = Omit<Clone, 'tree' | 'trusted' | 'staged' | 'indexSha256'>;

async function cloned(
  source: Source,
  folder: string,
  tree: string,
  trusted: string,
  options: CloneOptions,
): Promise<Made> {
  const { head, format, branch: current } = source;
  const isOwn =
    options.selfContained === true || source.isShallow || source.isScattered || !isForOthers(source.objects);
  const branch = branchFor(options.runId, current);
  const baseRef = current ?? 'HEAD';
  const refs = [branch, ...(current === undefined ? [] : [current])].map(name => `refs/heads/${name}`);
  const gitDir = makeGitDir(tree, { format, branch, refs, baseSha: head });
  const looking = uncommittedIn(folder, source);
  const opened = looking.then(found => (options.allowDirty ? undefined : refuseDirty(found)));
  const baseFiles = await checkOut(trusted, tree, head, opened);
  if (isOwn) await packed(source, gitDir);
  else writeFileSync(path.join(gitDir, 'objects', 'info', 'alternates'), `${OBJECTS_INSIDE}\n`);
  startFolder(tree, source.below);
  return {
    kind: 'clone',
    format,
    baseSha: head,
    baseRef,
    branch,
    protectedRefs: source.branches,
    startIn: source.below,
    mounts: isOwn ? [] : [{ source: source.objects, target: OBJECTS_INSIDE }],
    notes: notesOf(await looking),
    baseFiles,
  };
}

function refuseDirty({ changed }: Uncommitted): void {
  if (changed === 0) return;
  const them = changed === 1 ? '1 file has' : `${changed} files have`;
  throw new Fault(
    'usage',
    `The work tree has changes that are not committed: ${them} to be committed or stashed first. With --allow-dirty the agent works on the last commit, and does not see them.`,
  );
}

function notesOf({ changed, untracked }: Uncommitted): string[] {
  return [
    ...(changed > 0 ? [`The agent does not see ${many(changed, 'change')} that ${are(changed)} not committed.`] : []),
    ...(untracked > 0
      ? [`The agent does not see ${many(untracked, 'entry', 'entries')} that git does not track.`]
      : []),
  ];
}

const are = (count: number): string => (count === 1 ? 'is' : 'are');

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
    protectedRefs: [`refs/heads/${BASE_BRANCH}`],
    startIn: '.',
    mounts: [],
    notes,
    baseFiles,
  };
}

const BASE_BRANCH = 'main';

/** A branch of the user's called `proctor` leaves no room for others below that name. */
function branchFor(runId: string, current: string | undefined): string {
  return current === 'proctor' ? `proctor-${runId}` : `proctor/${runId}`;
}

/** The git dir of a tree: with a branch of its own, but no hook and no remote. */
function makeGitDir(
  tree: string,
  made: { format: 'sha1' | 'sha256'; branch: string; refs: readonly string[]; baseSha: string },
): string {
  const gitDir = path.join(tree, '.git');
  const { format, branch, refs, baseSha } = made;
  writeGitDir(gitDir, branch, configFor(format));
  // By hand: git would look for the commit, and its objects are not here yet.
  writeFileSync(path.join(gitDir, 'packed-refs'), packedRefs(refs, baseSha));
  return gitDir;
}

/** The least that git takes for a git dir. It would make no other, and takes as long as for all that we ask of it. */
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

/** The settings that every clone has: commits work, and nothing is collected that we want to see afterwards. */
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

/** A bare git dir that reads the objects of the user, and in which no attribute of any tree means anything. */
function makeTrusted(trusted: string, source: Source | undefined): void {
  writeGitDir(trusted, BASE_BRANCH, `${coreFor(source?.format ?? 'sha1', true).join('\n')}\n`);
  mkdirSync(path.join(trusted, 'info'));
  writeFileSync(path.join(trusted, 'info', 'attributes'), ATTRIBUTES_OFF);
  if (source) writeFileSync(path.join(trusted, 'objects', 'info', 'alternates'), `${JSON.stringify(source.objects)}\n`);
}

const ATTRIBUTES_OFF =
  '* !text !eol !crlf !ident !filter !diff !merge !whitespace !working-tree-encoding !conflict-marker-size\n';

/**
 * Lays out the files as they are in the commit, byte for byte, once they may be; returns what there is. The index is made
 * meanwhile.
 */
async function checkOut(trusted: string, tree: string, head: string, opened: Promise<void>): Promise<Buffer> {
  const steps = [['read-tree', head], ['checkout-index', '--all', '--force', '--quiet'], listingOf(head)];
  const asking = { ...indexed(trusted, path.join(tree, '.git')), workTree: tree, cwd: tree };
  const answers = await askGits(steps, asking, { before: 1, opened });
  for (const [index, { code, stderr }] of answers.entries())
    if (code !== 0) throw gitFailed(steps[index] as string[], stderr);
  return (answers.at(-1) as Answer).stdout;
}

/** Our git dir, with the index of another. */
function indexed(trusted: string, gitDir: string): Asking {
  return { gitDir: trusted, env: { GIT_INDEX_FILE: path.join(gitDir, 'index') }, timeoutMs: CHECKOUT_MS };
}

const CHECKOUT_MS = 600_000;

/** Where nothing of the folder is committed, it is not in the clone. */
function startFolder(tree: string, below: string): void {
  try {
    mkdirSync(path.join(tree, below), { recursive: true });
  } catch (cause) {
    throw new Fault('usage', 'The folder to work in is no folder in the last commit.', { cause });
  }
}

import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { copyFolder } from './clone-copy.ts';
import { packed } from './clone-objects.ts';
import { type Source, sourceAt } from './clone-source.ts';
import { git } from './git.ts';
import { commitOf } from './tree-import.ts';
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
  const source = await cleanSourceAt(folder, options.allowDirty);
  try {
    // Made for programs that have no tree of their own.
    if (options.readOnly) for (const name of ['input', 'output']) removeEmpty(path.join(tree, name));
    await makeTrusted(trusted, source);
    const made = source ? await cloned(source, tree, trusted, options) : await copied(folder, tree, trusted, options);
    // Not by name: what is mounted by its own name is followed, where it is a link.
    return { ...made, tree, trusted, staged: [] };
  } catch (cause) {
    if (cause instanceof Fault && cause.code !== 'git_failed') throw cause;
    throw new Fault('clone_failed', 'The folder could not be copied for the agent.', { cause });
  }
}

/** The repository that a folder lies in; undefined where there is none. Refuses one with changes that an agent would not see. */
export async function cleanSourceAt(folder: string, allowDirty: boolean): Promise<Source | undefined> {
  const source = await sourceAt(folder);
  if (!source || source.changed === 0 || allowDirty) return source;
  const them = source.changed === 1 ? '1 file has' : `${source.changed} files have`;
  throw new Fault(
    'usage',
    `The work tree has changes that are not committed: ${them} to be committed or stashed first. With --allow-dirty the agent works on the last commit, and does not see them.`,
  );
}

function removeEmpty(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
}

/** Where the user's objects are seen inside. */
const OBJECTS_INSIDE = '/agent/objects';

type Made = Omit<Clone, 'tree' | 'trusted' | 'staged'>;

async function cloned(source: Source, tree: string, trusted: string, options: CloneOptions): Promise<Made> {
  const { head, format, branch: current } = source;
  const isOwn =
    options.selfContained === true || source.isShallow || source.isScattered || !isForOthers(source.objects);
  const branch = branchFor(options.runId, current);
  const baseRef = current ?? 'HEAD';
  const refs = [branch, ...(current === undefined ? [] : [current])].map(name => `refs/heads/${name}`);
  const gitDir = await makeGitDir(tree, { format, branch, refs, baseSha: head });
  await checkOut(trusted, tree, head);
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
    notes: notesOf(source),
  };
}

function notesOf({ changed, untracked }: Source): string[] {
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
  const gitDir = await makeGitDir(tree, { format: 'sha1', branch, refs, baseSha });
  await git(['read-tree', baseSha], { gitDir: trusted, env: { GIT_INDEX_FILE: path.join(gitDir, 'index') } });
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
  };
}

const BASE_BRANCH = 'main';

/** A branch of the user's called `proctor` leaves no room for others below that name. */
function branchFor(runId: string, current: string | undefined): string {
  return current === 'proctor' ? `proctor-${runId}` : `proctor/${runId}`;
}

/** A git dir that has no file but those git needs: no template, no hook, no remote. */
async function makeGitDir(
  tree: string,
  made: { format: 'sha1' | 'sha256'; branch: string; refs: readonly string[]; baseSha: string },
): Promise<string> {
  const gitDir = path.join(tree, '.git');
  const { format, branch, refs, baseSha } = made;
  await git(['init', '--quiet', '--template=', `--object-format=${format}`, tree]);
  writeFileSync(path.join(gitDir, 'config'), configFor(format));
  mkdirSync(path.join(gitDir, 'objects', 'info'), { recursive: true });
  // Written by hand: git would look for the commit, and its objects are not here yet.
  writeFileSync(path.join(gitDir, 'packed-refs'), packedRefs(refs, baseSha));
  writeFileSync(path.join(gitDir, 'HEAD'), `ref: refs/heads/${branch}\n`);
  return gitDir;
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
  const isPlain = format === 'sha1';
  return [
    '[core]',
    `\trepositoryformatversion = ${isPlain ? 0 : 1}`,
    '\tfilemode = true',
    '\tbare = false',
    '\tlogallrefupdates = true',
    ...(isPlain ? [] : ['[extensions]', `\tobjectformat = ${format}`]),
    '[user]',
    '\tname = proctor-agent',
    '\temail = agent@proctor.invalid',
    '[gc]',
    '\tauto = 0',
    '',
  ].join('\n');
}

/** A bare git dir that reads the objects of the user, and in which no attribute of any tree means anything. */
async function makeTrusted(trusted: string, source: Source | undefined): Promise<void> {
  await git(['init', '--quiet', '--bare', '--template=', `--object-format=${source?.format ?? 'sha1'}`, trusted]);
  mkdirSync(path.join(trusted, 'info'), { recursive: true });
  writeFileSync(path.join(trusted, 'info', 'attributes'), ATTRIBUTES_OFF);
  if (!source) return;
  mkdirSync(path.join(trusted, 'objects', 'info'), { recursive: true });
  writeFileSync(path.join(trusted, 'objects', 'info', 'alternates'), `${JSON.stringify(source.objects)}\n`);
}

const ATTRIBUTES_OFF =
  '* !text !eol !crlf !ident !filter !diff !merge !whitespace !working-tree-encoding !conflict-marker-size\n';

/** The files as they are in the commit, byte for byte. */
async function checkOut(trusted: string, tree: string, head: string): Promise<void> {
  const asking = { gitDir: trusted, env: { GIT_INDEX_FILE: path.join(tree, '.git', 'index') }, timeoutMs: CHECKOUT_MS };
  await git(['read-tree', head], asking);
  await git(['checkout-index', '--all', '--force', '--quiet'], { ...asking, workTree: tree, cwd: tree });
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

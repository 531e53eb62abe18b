import { chmodSync, lstatSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Changes } from '../../contracts/agent-step/changes.ts';
import { bytesHash } from '../../base/hash.ts';
import { readRegular } from '../../base/regular.ts';
import type { SeriesRequest } from './commit-series.ts';
import { commitsOf } from './commits.ts';
import { gitFolderOf, refChanges, type Refs, refsIn } from './refs.ts';
import type { Clone } from './clone.ts';
import { configFor } from './clone-folder.ts';
import { writeDiff } from './diff-file.ts';
import { askGit } from './git.ts';
import { namesIn, pathText } from './tree.ts';
import { commitOf } from './tree-import.ts';
import { reviewTree } from './tree-review.ts';
import {
  type BaseEntry,
  filesIn,
  isModule,
  listedChanges,
  stateOf,
  type TreeLimits,
  type TreeState,
} from './tree-state.ts';

export interface ChangeLimits extends TreeLimits {
  readonly diffBytesMax: number;
  readonly refsMax: number;
}

export const CHANGE_LIMITS: ChangeLimits = {
  diffBytesMax: 64 * 1024 * 1024,
  refsMax: 10_000,
  entriesMax: 1_000_000,
  fileBytesMax: 64 * 1024 * 1024,
  totalBytesMax: 1024 ** 3,
  readBytesMax: 4 * 1024 ** 3,
  pathUnitsMax: 128 * 1024 * 1024,
};

export interface TakeOptions {
  readonly limits?: ChangeLimits;
  /** Where the diffs of the agent's commits go. Without it, the commits are only listed. */
  readonly series?: Pick<SeriesRequest, 'out' | 'leaveOut'>;
}

/**
 * Finds an agent's changes to its tree, and writes the diff to `out`. All of the agent's processes must have ended.
 *
 * The tree and its `.git` may be hostile, so git never reads them. Proctor reads the tree itself and imports the bytes
 * into its own git folder.
 */
export async function takeChanges(
  clone: Clone,
  workTree: string,
  out: string,
  { limits = CHANGE_LIMITS, series }: TakeOptions = {},
): Promise<Changes> {
  const gitDir = path.join(workTree, '.git');
  const gitFolder = gitFolderOf(workTree);
  if (gitFolder === 'kept') openFolders(gitDir);
  const base = filesIn(clone.baseFiles);
  const touched = gitFolder === 'kept' ? await touchedIndex(clone, gitDir) : new Map<string, BaseEntry>();
  const index = touched ?? base;
  const state = await stateOf(clone, workTree, limits, base, new Set(index.keys()));
  const { baseSha, trusted } = clone;
  const isSame = state.put.length === 0 && state.deleted.length === 0;
  const final = isSame
    ? baseSha
    : await commitOf(trusted, workTree, { from: baseSha, message: 'the tree as the agent left it', ...state });
  const diff = await writeDiff(trusted, [baseSha, final], out, { bytesMax: limits.diffBytesMax, missed: state.missed });

  const found = gitFolder === 'kept' ? gitDir : undefined;
  const { refs, commits, rewritten } = await historyOf(clone, found, limits.refsMax, series);
  const config = gitFolder === 'kept' ? readRegular(path.join(gitDir, 'config'), CONFIG_BYTES_MAX) : undefined;
  return {
    kind: clone.kind,
    baseSha,
    ...(clone.baseFrom !== undefined && { baseFrom: clone.baseFrom }),
    baseRef: clone.baseRef,
    branch: clone.branch,
    diff,
    changed: state.changed,
    ignored: {
      files: state.ignored.length,
      bytes: state.ignored.reduce((sum, { bytes }) => sum + bytes, 0),
      paths: state.ignored.map(textOf),
    },
    commits,
    refs,
    branchMoved: refs.some(({ isProtected }) => isProtected),
    rewritten,
    gitFolder,
    gitConfigChanged: gitFolder !== 'kept' || isOtherConfig(gitDir, config, clone),
    hooks: gitFolder === 'kept' ? await hooksOf(gitDir, config, state.changed, clone) : [],
    nested: state.nested.map(folder => pathText(folder).path),
    submodules: submodulesOf(state, index),
    linksOut: state.linksOut.map(link => pathText(link).path),
    collisions: state.collisions.map(file => pathText(file).path),
    leftOut: state.leftOut,
    needsReview: await reviewTree(trusted, workTree, state, base),
    notes: notesOf(gitFolder, commits),
  };
}

/** The refs and commits in the agent's git folder, which is undefined if it is gone. */
async function historyOf(
  clone: Clone,
  gitDir: string | undefined,
  refsMax: number,
  series: TakeOptions['series'],
): Promise<Pick<Changes, 'refs' | 'commits' | 'rewritten'>> {
  const now: Refs = gitDir === undefined ? { found: new Map(), isCut: false } : refsIn(gitDir, clone, refsMax);
  const refs = refChanges(clone, now.found);
  if (gitDir === undefined) return { refs, commits: { listed: [], total: null, abandoned: null }, rewritten: false };
  const base = clone.baseSha;
  const tips = [...new Set(refs.flatMap(({ sha }) => (sha === null || sha === base ? [] : [sha])))];
  const own = now.found.get(`refs/heads/${clone.branch}`) ?? null;
  const tip = now.found.has('HEAD') ? (now.found.get('HEAD') ?? null) : own;
  const { rewritten, total, ...commits } = await commitsOf(
    clone,
    gitDir,
    tips,
    own,
    series && { ...series, tip, base },
  );
  return { refs, commits: { ...commits, total: now.isCut ? null : total }, rewritten };
}

const textOf = (entry: { readonly path: string }): string => pathText(entry.path).path;
const CONFIG_BYTES_MAX = 1024 * 1024;

/** The entries of the agent's index; undefined if unchanged, empty if unreadable. Git reads a copy, for names only. */
async function touchedIndex(clone: Clone, gitDir: string): Promise<Map<string, BaseEntry> | undefined> {
  const bytes = readRegular(path.join(gitDir, 'index'), INDEX_BYTES_MAX);
  if (!bytes) return new Map();
  if (bytesHash(bytes) === clone.indexSha256) return undefined;
  const copy = path.join(path.dirname(clone.trusted), 'agent-index');
  writeFileSync(copy, bytes);
  const { code, stdout } = await askGit(['ls-files', '--stage', '-z'], {
    gitDir: clone.trusted,
    env: { GIT_INDEX_FILE: copy },
    settings: [['core.bare', 'true']],
    timeoutMs: INDEX_MS,
  });
  return code === 0 ? listedChanges(stdout, /^(\d{6}) ([0-9a-f]+) \d\t(.*)$/s) : new Map<string, BaseEntry>();
}

const INDEX_BYTES_MAX = 64 * 1024 * 1024;
const INDEX_MS = 30_000;

/** Whether the agent changed the git configuration, or added a file that acts as one. */
function isOtherConfig(gitDir: string, config: Buffer | undefined, { format }: Clone): boolean {
  if (config?.toString() !== configFor(format)) return true;
  return ['config.worktree', 'info/attributes', 'objects/info/http-alternates'].some(name =>
    isThere(path.join(gitDir, name)),
  );
}

/** Does not follow symlinks. Returns true if it is unknown, because something other than a folder is in the way. */
function isThere(file: string): boolean {
  try {
    const above = lstatSync(path.dirname(file), { throwIfNoEntry: false });
    if (!above?.isDirectory()) return above !== undefined;
    return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

/** Restores permissions that the agent removed. */
function openFolders(gitDir: string): void {
  for (const name of ['', 'info', 'objects', 'hooks', 'refs']) {
    const folder = path.join(gitDir, name);
    try {
      if (lstatSync(folder).isDirectory()) chmodSync(folder, 0o700);
    } catch {
      // Missing, or not below a folder. The caller notices that itself.
    }
  }
}

/** All hooks are new, because the clone had none. */
async function hooksOf(
  gitDir: string,
  config: Buffer | undefined,
  changed: Changes['changed'],
  { format }: Clone,
): Promise<string[]> {
  const folder = path.join(gitDir, 'hooks');
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  const names = stat?.isDirectory() ? (namesIn(folder, true) ?? []).filter(name => !name.endsWith('.sample')) : [];
  const made = stat && !stat.isDirectory() ? ['.git/hooks'] : names.map(name => `.git/hooks/${pathText(name).path}`);
  // The original configuration names no other folder.
  if (!config || config.toString() === configFor(format)) return made.slice(0, HOOKS_MAX);
  const args = ['config', '--file', '-', '--no-includes', '-z', '--get-all', 'core.hooksPath'];
  const { stdout } = await askGit(args, { input: config });
  const roots = stdout
    .toString()
    .split('\0')
    .flatMap(root => (root === '' ? [] : [`${path.posix.normalize(root).replace(/\/$/, '')}/`]));
  const named = changed.filter(
    ({ path: file, change }) => change !== 'delete' && roots.some(root => root === './' || file.startsWith(root)),
  );
  return [...made, ...named.map(({ path: file }) => file)].slice(0, HOOKS_MAX);
}

const HOOKS_MAX = 1_000;

function submodulesOf(
  { modules: base, submodules: filled }: TreeState,
  index: ReadonlyMap<string, BaseEntry>,
): Changes['submodules'] {
  const pointed = [...index].filter(isModule);
  const moved = pointed.filter(([at, { sha }]) => base.get(at)?.sha !== sha);
  // An unreadable index says nothing about submodules.
  const gone = [...base.keys()].filter(at => index.size > 0 && !index.has(at));
  const paths = [...new Set([...moved.map(([at]) => at), ...gone, ...filled])].slice(0, HOOKS_MAX);
  return paths.map(at => ({
    path: pathText(at).path,
    from: base.get(at)?.sha ?? null,
    to: index.get(at)?.sha ?? null,
  }));
}

function notesOf(gitFolder: Changes['gitFolder'], { total, abandoned }: Changes['commits']): string[] {
  return [
    ...(gitFolder === 'gone' ? ['The agent removed .git.'] : []),
    ...(gitFolder === 'replaced' ? ['The agent replaced .git.'] : []),
    ...(abandoned
      ? [`The agent made ${abandoned === 1 ? 'a commit' : `${abandoned} commits`} that no ref reaches.`]
      : []),
    ...(total === null ? ["Some of the agent's commits are unreadable."] : []),
  ];
}

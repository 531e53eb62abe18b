import path from 'node:path';
import { pathPattern } from '../../base/path-pattern.ts';
import { readRegular } from '../../base/regular.ts';
import type { CheckResult } from '../../contracts/check-result/index.ts';
import { findProgram } from '../../execute/host/programs.ts';
import { checkOutBase, copyTree, filesOfTree, putFile, removeAt } from '../../execute/worktree/check-tree.ts';
import type { Clone } from '../../execute/worktree/clone.ts';
import { layPrepared } from '../../execute/worktree/prepared.ts';
import { nameOf, placeIn, type TreeEntry } from '../../execute/worktree/tree.ts';
import { blobName, modeOf } from '../../execute/worktree/tree-import.ts';
import { type BaseEntry, filesIn, isModule } from '../../execute/worktree/tree-state.ts';
import {
  type BaseNames,
  baseNames,
  checkFileReason,
  isCompilerConfiguration,
  isInterloper,
  isRunnerModule,
  isTest,
} from '../../policy/check-files.ts';
import { changedDependencies, dependencyFolderOf } from './dependencies.ts';
import type { ReadyCheck } from './order.ts';
import { basePackages, changedPackage, scriptsRun } from './package-scripts.ts';
import { runnerFiles } from './runner-files.ts';

/** A file that differs from base and that the check depends on. Each character of the path is one byte. */
export interface RestoredFile extends Pick<CheckResult['restored']['listed'][number], 'change' | 'because'> {
  readonly path: string;
  /** The agent's version, for the diff; empty if deleted. */
  readonly entries: readonly TreeEntry[];
  /** The text to write, if only part of the file is put back. */
  readonly text?: string;
}

/** What the agent changed among the files that a check depends on. */
export interface FoundChanges {
  readonly restored: readonly RestoredFile[];
  /** Those that the check lets the agent change. */
  readonly kept: readonly RestoredFile[];
  /** New tests. They run in the first look, but not in the second. */
  readonly newTests: readonly string[];
}

/** The tree of a check, before its hidden files are laid over it. */
export interface CheckTree {
  readonly clone: Clone;
  /** The copy, which Proctor owns. */
  readonly top: string;
  /** An unused path beside it. */
  readonly scratch: string;
}

/** A path as bytes, one per character. */
export function bytePath(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** Finds what the agent changed among the files that a check depends on. Changes nothing. */
export async function findChanged(check: ReadyCheck, tree: CheckTree): Promise<FoundChanges> {
  const { clone, top } = tree;
  const seen: Seen = { tree, base: filesIn(clone.baseFiles), found: await filesOfTree(top) };
  const folders = await changedDependencies(top, seen.found, clone.tree);
  const { scripts, packages } = await runnersOf(check, seen);
  const files = changedFiles(seen, scripts);
  const changed: RestoredFile[] = [...folders, ...files.changed, ...packages];
  const below = (at: string): string => bytePath(path.posix.join(clone.startIn, at));
  const isKept = pathPattern((check.keep ?? []).map(below));
  const inOrder = (list: readonly RestoredFile[]): RestoredFile[] =>
    [...list].sort((a, b) => (a.path < b.path ? -1 : 1));
  return {
    restored: inOrder([...changed.filter(({ path: at }) => !isKept(at)), ...plantedReport(check, seen)]),
    kept: inOrder(changed.filter(({ path: at }) => isKept(at))),
    newTests: files.newTests.filter(at => !isKept(at)),
  };
}

interface Seen {
  readonly tree: CheckTree;
  readonly base: ReadonlyMap<string, BaseEntry>;
  readonly found: ReadonlyMap<string, TreeEntry>;
}

function changedFiles(
  { tree: { top, clone }, base, found }: Seen,
  scripts: ReadonlySet<string>,
): { readonly changed: RestoredFile[]; readonly newTests: string[] } {
  const names = baseNames(base.keys());
  const changed: RestoredFile[] = [];
  const newTests: string[] = [];
  for (const [at, entry] of found) {
    if (dependencyFolderOf(at) !== undefined) continue;
    const before = base.get(at) ?? clone.prepared?.files.get(at);
    const because = reasonOf(at, entry, scripts) ?? (before ? undefined : moduleReason(at, clone.startIn));
    if (!because || (before && isSame(top, entry, before, clone))) continue;
    if (!before && isWelcome(top, entry, because, names)) {
      if (because === 'test_file') newTests.push(at);
    } else changed.push({ path: at, change: before ? 'changed' : 'added', because, entries: [entry] });
  }
  for (const listed of base) {
    const [at] = listed;
    const isGone = !found.has(at) && !isModule(listed) && dependencyFolderOf(at) === undefined;
    const because = isGone ? checkFileReason(at, scripts) : undefined;
    if (because) changed.push({ path: at, change: 'deleted', because, entries: [] });
  }
  return { changed, newTests };
}

/** New tests stay, unless they hide a file of the base commit. Compiler settings outside the tests stay too. */
function isWelcome(top: string, entry: TreeEntry, because: RestoredFile['because'], names: BaseNames): boolean {
  const { path: at } = entry;
  if (because === 'runner_configuration') return isCompilerConfiguration(nameOf(at)) && !isTest(at);
  return because === 'test_file' && !isInterloper(at, names) && !(at.endsWith('_test.go') && takesOverGo(top, entry));
}

/** `TestMain` and `init` run before the tests of the base commit in the same package, and can end them. */
function takesOverGo(top: string, entry: TreeEntry): boolean {
  const bytes = entry.kind === 'file' ? readRegular(placeIn(top, entry.path).toString(), GO_BYTES_MAX) : undefined;
  return !bytes || /\bfunc\s+(?:TestMain|init)\b/.test(bytes.toString('latin1'));
}

const GO_BYTES_MAX = 1024 * 1024;

function reasonOf(at: string, entry: TreeEntry, scripts: ReadonlySet<string>): RestoredFile['because'] | undefined {
  const folder = nameOf(path.posix.dirname(at));
  const isProgram = (folder === 'bin' || folder === '.bin') && (entry.isExecutable || entry.kind === 'link');
  if (isProgram && findProgram(nameOf(at)) !== undefined) return 'program';
  return checkFileReason(at, scripts);
}

function moduleReason(at: string, startIn: string): RestoredFile['because'] | undefined {
  const start = startIn === '.' || startIn === '' ? '' : `${bytePath(startIn)}/`;
  return at.startsWith(start) && isRunnerModule(at.slice(start.length)) ? 'runner_configuration' : undefined;
}

function isSame(top: string, entry: TreeEntry, before: BaseEntry, { format }: Clone): boolean {
  return modeOf(entry) === before.mode && blobName(top, entry, format) === before.sha;
}

/** The script files that the check runs, and the package.json files whose scripts the agent changed. */
async function runnersOf(
  check: ReadyCheck,
  { tree: { clone, top }, base, found }: Seen,
): Promise<{ readonly scripts: ReadonlySet<string>; readonly packages: readonly RestoredFile[] }> {
  const differs = (at: string): boolean => {
    const [entry, before] = [found.get(at), base.get(at)];
    return !entry || !before || !isSame(top, entry, before, clone);
  };
  const all = await basePackages(clone, base, differs);
  const { files: scripts, texts } = await runnerFiles(check, clone, base, all);
  const isWhole = (at: string): boolean => checkFileReason(at, scripts) !== undefined;
  const packages = all
    .filter(each => differs(each.path) && !isWhole(each.path))
    .flatMap(each => {
      const entry = found.get(each.path);
      const change = changedPackage(top, each, scriptsRun(each, texts), entry);
      return change
        ? [{ path: each.path, because: 'package_script' as const, entries: entry ? [entry] : [], ...change }]
        : [];
    });
  return { scripts, packages };
}

/** A report that exists before the check, and is not the one of the base commit. */
function plantedReport(check: ReadyCheck, { tree: { clone, top }, base, found }: Seen): RestoredFile[] {
  if (check.report === undefined) return [];
  const at = bytePath(path.posix.join(clone.startIn, check.report));
  const [planted, before] = [found.get(at), base.get(at)];
  if (!planted || (before && isSame(top, planted, before, clone))) return [];
  return [{ path: at, change: before ? 'changed' : 'added', because: 'report', entries: [planted] }];
}

/** Puts the files back as they are in base, and removes those that base does not have. */
export async function putBackFiles(changed: readonly RestoredFile[], tree: CheckTree): Promise<void> {
  const { clone, top, scratch } = tree;
  const wanted = changed.filter(
    ({ change, text, because }) =>
      change !== 'added' && text === undefined && because !== 'report' && because !== 'dependency',
  );
  const prepared = clone.prepared;
  const isPrepared = (at: string): boolean => prepared?.files.has(at) === true;
  const committed = wanted.map(({ path: at }) => at).filter(at => !isPrepared(at));
  if (committed.length > 0) await checkOutBase(clone, scratch, committed);
  const laid = new Set(wanted.map(({ path: at }) => at).filter(isPrepared));
  if (prepared?.from && laid.size > 0) await layPrepared(prepared.from, top, ({ path: at }) => laid.has(at));
  for (const { path: at, change, text, because } of changed) {
    if (text !== undefined) putFile(top, at, [Buffer.from(text)], false);
    else if (because === 'dependency') {
      removeAt(top, at);
      // Installed before the agent started, so the base commit does not have them.
      if (change !== 'added') await copyTree(clone.tree, top, at);
    } else if (change === 'added' || because === 'report') removeAt(top, at);
    else if (!laid.has(at)) await copyTree(scratch, top, at);
  }
}

import path from 'node:path';
import { readRegular } from '../../base/regular.ts';
import { inside } from '../../contracts/agent-step/paths.ts';
import type { CheckResult } from '../../contracts/check-result/index.ts';
import { isObject } from '../../contracts/kind.ts';
import { findProgram } from '../../execute/host/programs.ts';
import { baseText, checkOutBase, copyTree, filesOfTree, putFile, removeAt } from '../../execute/worktree/check-tree.ts';
import type { Clone } from '../../execute/worktree/clone.ts';
import { layPrepared } from '../../execute/worktree/prepared.ts';
import { nameOf, placeIn, type TreeEntry } from '../../execute/worktree/tree.ts';
import { blobName, modeOf } from '../../execute/worktree/tree-import.ts';
import { type BaseEntry, filesIn, isModule } from '../../execute/worktree/tree-state.ts';
import {
  checkFileReason,
  RUNNER_KEYS,
  scriptClosure,
  scriptFilesIn,
  scriptsNamedIn,
} from '../../policy/check-files.ts';
import type { ReadyCheck } from './order.ts';

/** A file that differs from base and that the check depends on. Each character of the path is one byte. */
export interface RestoredFile extends Pick<CheckResult['restored']['listed'][number], 'change' | 'because'> {
  readonly path: string;
  /** The agent's version; undefined if deleted. */
  readonly entry: TreeEntry | undefined;
  /** The text to write, if only part of the file is put back. */
  readonly text?: string;
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
export async function findChanged(check: ReadyCheck, { clone, top }: CheckTree): Promise<RestoredFile[]> {
  const base = filesIn(clone.baseFiles);
  const found = await filesOfTree(top);
  const packages = await packagesOf(check, clone, base);
  const scripts = scriptsOf(check, clone, base, packages);
  const changed: RestoredFile[] = [];
  for (const [at, entry] of found) {
    const before = base.get(at) ?? clone.prepared?.files.get(at);
    const because = reasonOf(at, entry, scripts) ?? (before && isDependency(at) ? 'program' : undefined);
    if (!because || (before && isSame(top, entry, before, clone))) continue;
    // New tests are welcome. New settings of a runner are not.
    const isKept = !before && because === 'test_file';
    if (!isKept) changed.push({ path: at, change: before ? 'changed' : 'added', because, entry });
  }
  for (const listed of base) {
    const [at] = listed;
    const because = found.has(at) || isModule(listed) ? undefined : checkFileReason(at, scripts);
    if (because) changed.push({ path: at, change: 'deleted', because, entry: undefined });
  }
  for (const each of packages) changed.push(...changedPackage(top, each, found));
  const report = check.report === undefined ? undefined : bytePath(path.posix.join(clone.startIn, check.report));
  const planted = report === undefined ? undefined : found.get(report);
  const before = report === undefined ? undefined : base.get(report);
  if (planted && !(before && isSame(top, planted, before, clone)))
    changed.push({ path: planted.path, change: before ? 'changed' : 'added', because: 'report', entry: planted });
  return changed.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function reasonOf(at: string, entry: TreeEntry, scripts: ReadonlySet<string>): RestoredFile['because'] | undefined {
  const folder = nameOf(path.posix.dirname(at));
  const isProgram = (folder === 'bin' || folder === '.bin') && (entry.isExecutable || entry.kind === 'link');
  if (isProgram && findProgram(nameOf(at)) !== undefined) return 'program';
  return /(?:^|\/)node_modules\//.test(at) ? undefined : checkFileReason(at, scripts);
}

/** An installed package, which an agent has no reason to change. Tools keep caches in folders that start with a dot. */
function isDependency(at: string): boolean {
  return /(?:^|\/)node_modules\/(?!\.)/.test(at);
}

function isSame(top: string, entry: TreeEntry, before: BaseEntry, { format }: Clone): boolean {
  return modeOf(entry) === before.mode && blobName(top, entry, format) === before.sha;
}

/** A package.json of the base commit whose scripts the command names. */
interface Package {
  readonly path: string;
  readonly value: Readonly<Record<string, unknown>>;
  readonly scripts: Readonly<Record<string, unknown>>;
  readonly names: ReadonlySet<string>;
}

async function packagesOf(check: ReadyCheck, clone: Clone, base: ReadonlyMap<string, BaseEntry>): Promise<Package[]> {
  const paths = new Set([path.posix.join(clone.startIn, 'package.json'), 'package.json'].map(bytePath));
  const packages: Package[] = [];
  for (const at of paths) {
    const value = parsed(await baseText(clone, base.get(at)?.sha));
    if (!value) continue;
    const scripts = isObject(value['scripts']) ? value['scripts'] : {};
    packages.push({ path: at, value, scripts, names: scriptClosure(scriptsNamedIn(check.command), scripts) });
  }
  return packages;
}

function parsed(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The script files that the command, or a script of package.json that it names, runs. */
function scriptsOf(
  check: ReadyCheck,
  { startIn }: Clone,
  base: ReadonlyMap<string, BaseEntry>,
  packages: readonly Package[],
): Set<string> {
  const texts = packages.flatMap(({ scripts, names }) =>
    [...names].map(name => scripts[name]).filter(text => typeof text === 'string'),
  );
  const full = (at: string): string => bytePath(path.posix.join(startIn, at));
  const isWork = check.paths ? inside(check.paths) : () => false;
  const files = scriptFilesIn([check.command, ...texts], at => base.has(full(at)), isWork);
  return new Set([...files].map(full));
}

/** The agent's package.json with the base's scripts and runner settings, if these differ. */
function changedPackage(top: string, base: Package, found: ReadonlyMap<string, TreeEntry>): RestoredFile[] {
  const { path: at, value, scripts, names } = base;
  const entry = found.get(at);
  const because = 'package_script' as const;
  if (!entry) return [{ path: at, change: 'deleted', because, entry: undefined }];
  const bytes = entry.kind === 'file' ? readRegular(placeIn(top, at).toString(), PACKAGE_BYTES_MAX) : undefined;
  const left = parsed(bytes?.toString());
  if (!left) return [{ path: at, change: 'changed', because, entry }];
  const own = isObject(left['scripts']) ? left['scripts'] : {};
  const whole = { ...left, scripts: withKeys(own, scripts, [...names]) };
  const restored = withKeys(whole, value, RUNNER_KEYS);
  const isChanged =
    [...names].some(name => own[name] !== scripts[name]) ||
    RUNNER_KEYS.some(key => JSON.stringify(left[key]) !== JSON.stringify(value[key]));
  return isChanged
    ? [{ path: at, change: 'changed', because, entry, text: `${JSON.stringify(restored, null, 2)}\n` }]
    : [];
}

const PACKAGE_BYTES_MAX = 1024 * 1024;

/** The object with these keys as they are in another one. */
function withKeys(
  object: Readonly<Record<string, unknown>>,
  other: Readonly<Record<string, unknown>>,
  keys: readonly string[],
): Record<string, unknown> {
  const wanted = new Set(keys);
  const kept = Object.entries(object).filter(([key]) => !wanted.has(key));
  return Object.fromEntries([...kept, ...Object.entries(other).filter(([key]) => wanted.has(key))]);
}

/** Puts the files back as they are in base, and removes those that base does not have. */
export async function putBackFiles(changed: readonly RestoredFile[], tree: CheckTree): Promise<void> {
  const { clone, top, scratch } = tree;
  const wanted = changed.filter(
    ({ change, text, because }) => change !== 'added' && text === undefined && because !== 'report',
  );
  const prepared = clone.prepared;
  const isPrepared = (at: string): boolean => prepared?.files.has(at) === true;
  const committed = wanted.map(({ path: at }) => at).filter(at => !isPrepared(at));
  if (committed.length > 0) await checkOutBase(clone, scratch, committed);
  const laid = new Set(wanted.map(({ path: at }) => at).filter(isPrepared));
  if (prepared?.from && laid.size > 0) await layPrepared(prepared.from, top, ({ path: at }) => laid.has(at));
  for (const { path: at, change, text, because } of changed) {
    if (text !== undefined) putFile(top, at, [Buffer.from(text)], false);
    else if (change === 'added' || because === 'report') removeAt(top, at);
    else if (!laid.has(at)) await copyTree(scratch, top, at);
  }
}

import path from 'node:path';
import { inside } from '../../contracts/agent-step/paths.ts';
import { baseText } from '../../execute/worktree/check-tree.ts';
import type { Clone } from '../../execute/worktree/clone.ts';
import type { BaseEntry } from '../../execute/worktree/tree-state.ts';
import { checkFileReason } from '../../policy/check-files.ts';
import { scriptFilesIn, scriptFilesWithin } from '../../policy/check-scripts.ts';
import type { ReadyCheck } from './order.ts';
import { type BasePackage, scriptsRun } from './package-scripts.ts';

/**
 * The script files of the base commit that a check runs: those that its command names, and those that these scripts,
 * the scripts of package.json and the configuration of runners name in turn. Each character of a path is one byte.
 */
export async function runnerFiles(
  check: ReadyCheck,
  clone: Clone,
  base: ReadonlyMap<string, BaseEntry>,
  packages: readonly BasePackage[],
): Promise<{ readonly files: ReadonlySet<string>; readonly texts: readonly string[] }> {
  const full = (at: string): string => Buffer.from(path.posix.join(clone.startIn, at)).toString('latin1');
  const has = (at: string): boolean => base.has(full(at));
  const isWork = check.paths ? inside(check.paths) : () => false;
  const files = new Set<string>();
  const texts = [check.command];
  const commandsOf = (known: readonly string[]): string[] =>
    packages.flatMap(each =>
      [...scriptsRun(each, known)].map(name => each.scripts[name]).filter(text => typeof text === 'string'),
    );
  let pending = [...base.keys()].filter(at => isSetting(at, full('')));
  for (let round = 0; round < ROUNDS_MAX; round++) {
    for (const at of pending.slice(0, FILES_MAX)) {
      const text = await baseText(clone, base.get(at)?.sha);
      if (text !== undefined) texts.push(text);
    }
    const found = [
      ...scriptFilesIn([check.command, ...commandsOf(texts)], has, isWork),
      ...scriptFilesWithin(texts.slice(1), has, isWork),
    ].map(full);
    pending = [...new Set(found)].filter(at => !files.has(at));
    if (pending.length === 0 || files.size > FILES_MAX) break;
    for (const at of pending) files.add(at);
  }
  return { files, texts };
}

/** How many scripts deep Proctor follows. */
const ROUNDS_MAX = 10;
const FILES_MAX = 200;

/** Whether this is the configuration of a runner, in the working folder or at the top. */
function isSetting(at: string, startIn: string): boolean {
  const folder = path.posix.dirname(at);
  const isNear = folder === '.' || folder === startIn.replace(/\/$/, '');
  return isNear && checkFileReason(at, new Set()) === 'runner_configuration';
}

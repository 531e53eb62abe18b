import path from 'node:path';
import { inside } from '../../contracts/agent-step/paths.ts';
import { baseText } from '../../execute/worktree/check-tree.ts';
import type { Clone } from '../../execute/worktree/clone.ts';
import type { BaseEntry } from '../../execute/worktree/tree-state.ts';
import { checkFileReason } from '../../policy/check-files.ts';
import { scriptFilesIn } from '../../policy/check-scripts.ts';
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
  let isMore = true;
  while (isMore) {
    const scripts = packages.flatMap(each =>
      [...scriptsRun(each, texts)].map(name => each.scripts[name]).filter(text => typeof text === 'string'),
    );
    const found = [...scriptFilesIn([...texts, ...scripts], has, isWork)].map(full).filter(at => !files.has(at));
    const settings = texts.length === 1 ? [...base.keys()].filter(at => isSetting(at, full(''))) : [];
    isMore = found.length + settings.length > 0 && files.size < FILES_MAX;
    for (const at of [...found, ...settings].slice(0, FILES_MAX)) {
      if (!settings.includes(at)) files.add(at);
      const text = await baseText(clone, base.get(at)?.sha);
      if (text !== undefined) texts.push(text);
    }
    if (texts.length === 1) break;
  }
  return { files, texts };
}

const FILES_MAX = 200;

/** Whether this is the configuration of a runner, in the working folder or at the top. */
function isSetting(at: string, startIn: string): boolean {
  const folder = path.posix.dirname(at);
  const isNear = folder === '.' || folder === startIn.replace(/\/$/, '');
  return isNear && checkFileReason(at, new Set()) === 'runner_configuration';
}

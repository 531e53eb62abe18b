import type { Clone } from '../../execute/worktree/clone.ts';
import { nameOf } from '../../execute/worktree/tree.ts';
import { filesIn } from '../../execute/worktree/tree-state.ts';
import { baseNames, isCacheFolder, isToolCache } from '../../policy/check-files.ts';

/**
 * Whether a path in the agent's tree is a cache that a check starts without, such as `__pycache__`. A planted cache can
 * replace a test. The base commit's own folders stay.
 */
export function isLeftOut(clone: Clone): (path: string) => boolean {
  const base = filesIn(clone.baseFiles);
  const { folders } = baseNames(base.keys());
  return at => {
    const name = nameOf(at);
    const isTarget = name === 'target' && base.has(`${at.slice(0, at.length - name.length)}Cargo.toml`);
    return (isCacheFolder(name) || isTarget || isToolCache(at)) && !folders.has(at);
  };
}

import { filtersOff } from './clone-source.ts';
import { type Asking, askGit, git } from './git.ts';

/** The current commit of a folder, and whether it has uncommitted changes; null if unknown. */
export async function repositoryAt(folder: string): Promise<{ commit: string; dirty: boolean } | null> {
  const asking: Asking = { cwd: folder, asUser: true, timeoutMs: GIT_MS };
  try {
    const { code, stdout } = await askGit(['rev-parse', '--verify', '--quiet', 'HEAD'], asking);
    const commit = stdout.toString().trim();
    if (code !== 0 || !/^[0-9a-f]{40,64}$/.test(commit)) return null;
    const changes = await git(STATUS, { ...asking, settings: await filtersOff(folder) });
    return { commit, dirty: changes.length > 0 };
  } catch {
    return null;
  }
}

/** Ignores changes inside submodules, because git would read them with their own settings. */
const STATUS = ['status', '--porcelain', '--untracked-files=normal', '--ignore-submodules=dirty'];

const GIT_MS = 10_000;

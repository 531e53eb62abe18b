import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The commit that a folder is at, and whether something in it differs from that; null where there is no repository. */
export async function repositoryAt(folder: string): Promise<{ commit: string; dirty: boolean } | null> {
  try {
    const commit = (await git(folder, 'rev-parse', '--verify', 'HEAD')).trim();
    if (!/^[0-9a-f]{40,64}$/.test(commit)) return null;
    const changes = await git(folder, 'status', '--porcelain', '--untracked-files=normal');
    return { commit, dirty: changes !== '' };
  } catch {
    return null;
  }
}

/** Asks git without letting the repository run anything of its own. */
async function git(folder: string, ...args: string[]): Promise<string> {
  const safe = ['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', '-c', 'core.pager=cat'];
  const { stdout } = await run('git', [...safe, '-C', folder, ...args], {
    timeout: GIT_MS,
    maxBuffer: GIT_BYTES_MAX,
    encoding: 'utf8',
  });
  return stdout;
}

const run = promisify(execFile);

const GIT_MS = 10_000;
const GIT_BYTES_MAX = 16 * 1024 * 1024;

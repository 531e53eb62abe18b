import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { askGit } from './git.ts';

/** Copies a commit's history into another git folder as one pack. Leaves out the history of `known`, which is there. */
export async function packed(
  source: { readonly gitDir: string; readonly head: string; readonly isShallow: boolean; readonly known?: string },
  gitDir: string,
): Promise<void> {
  const folder = path.join(gitDir, 'objects', 'pack');
  mkdirSync(folder, { recursive: true });
  const { code, stderr } = await askGit(
    ['pack-objects', '--quiet', '--revs', '--threads=2', path.join(folder, 'pack')],
    {
      gitDir: source.gitDir,
      input: `${source.head}\n${source.known === undefined ? '' : `^${source.known}\n`}`,
      timeoutMs: PACK_MS,
    },
  );
  if (code !== 0) {
    throw new Fault('usage', 'The repository cannot be copied, because some of its objects are not on this machine.', {
      cause: stderr,
    });
  }
  const shallow = path.join(source.gitDir, 'shallow');
  if (source.isShallow && existsSync(shallow)) copyFileSync(shallow, path.join(gitDir, 'shallow'));
}

const PACK_MS = 600_000;

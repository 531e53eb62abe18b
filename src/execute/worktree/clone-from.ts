import { statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { newToken } from '../../base/ids.ts';
import { makeStage, removeStage } from '../host/workspace.ts';
import { checkBundle, openBundle } from './bundle.ts';
import { refusedBundle } from './bundle-header.ts';
import type { CloneFrom } from './clone.ts';
import { coreFor, writeGitDir } from './clone-folder.ts';
import { sourceAt, sourceIn, type SourceRepository } from './clone-source.ts';
import { git } from './git.ts';

/**
 * The repository of a folder, the named repository, or an opened bundle; undefined if the agent gets a new repository.
 * Without a stage, a bundle is only checked.
 */
export async function sourceOf(
  from: CloneFrom,
  stage: string | undefined,
  base: string | undefined,
): Promise<SourceRepository | undefined> {
  if (from === undefined) return undefined;
  if (typeof from === 'string') return sourceAt(from, base);
  const stat = statSync(from.repository, { throwIfNoEntry: false });
  if (!stat) throw new Fault('usage', 'The repository does not exist. Name a git repository or a git bundle.');
  if (stat.isDirectory()) return sourceIn(from.repository, base);
  if (stage !== undefined) return bundled(from.repository, path.join(stage, BUNDLE), base);
  checkBundle(from.repository);
  const passing = makeStage(`bundle-${newToken()}`);
  try {
    return await bundled(from.repository, path.join(passing, BUNDLE), base);
  } finally {
    removeStage(passing);
  }
}

/** In the stage. Proctor's git folder there refers to it by a relative path, because a stage may be renamed. */
const BUNDLE = 'bundle.git';

async function bundled(file: string, gitDir: string, base: string | undefined): Promise<SourceRepository> {
  const { sha256 } = await openBundle(file, gitDir, format =>
    writeGitDir(gitDir, 'none', `${coreFor(format, true).join('\n')}\n`),
  );
  const source = await sourceIn(gitDir, base);
  await refuseLarge(source);
  return { ...source, objects: `../../${BUNDLE}/objects`, bundle: sha256 };
}

/** A small pack can contain a tree that fills the disk. */
async function refuseLarge({ gitDir, head }: SourceRepository): Promise<void> {
  const asking = { gitDir, bytesMax: LISTING_BYTES_MAX };
  const listing = await git(['ls-tree', '-r', '-l', '-z', '--full-tree', head], asking).catch((cause: unknown) => {
    throw cause instanceof Fault && cause.code === 'git_failed' ? refusedBundle(UNLISTED, cause) : cause;
  });
  const lines = listing.toString('latin1').split('\0');
  const bytes = lines.reduce((sum, line) => sum + Number(/^\d+ \w+ [0-9a-f]+ +(\d+)\t/.exec(line)?.[1] ?? 0), 0);
  if (bytes > TREE_BYTES_MAX || lines.length > TREE_FILES_MAX)
    throw refusedBundle('its commit has more than 2 GiB or 500,000 files');
}

const UNLISTED = 'git cannot list the files of its commit, or the list is longer than 256 MiB';
const LISTING_BYTES_MAX = 256 * 1024 * 1024;
const TREE_BYTES_MAX = 2 * 1024 ** 3;
const TREE_FILES_MAX = 500_000;

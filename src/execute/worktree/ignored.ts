import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { askGit } from './git.ts';
import { placeIn, type TreeEntry } from './tree.ts';
import { treeContent } from './tree-import.ts';

/**
 * Finds the paths that the tree's .gitignore files hide. Git runs in a folder that contains only copies of those files.
 * If it does not answer in time, nothing counts as ignored.
 */
export async function ignoredAmong(
  gitDir: string,
  top: string,
  candidates: readonly TreeEntry[],
  ignoreFiles: readonly TreeEntry[],
): Promise<ReadonlySet<string>> {
  const files = ignoreFiles.filter(({ bytes }) => bytes <= IGNORE_BYTES_MAX).slice(0, IGNORE_FILES_MAX);
  if (files.length === 0 || candidates.length === 0) return new Set();
  const folder = path.join(path.dirname(gitDir), 'ignored');
  rmSync(folder, { recursive: true, force: true });
  try {
    mkdirSync(folder);
    for (const file of files) layOut(folder, top, file);
    const { code, stdout } = await askGit(['check-ignore', '-z', '--stdin', '--no-index'], {
      gitDir,
      workTree: folder,
      cwd: folder,
      // The prefix makes git treat a leading colon as part of the name.
      input: Buffer.from(candidates.map(entry => `${HERE}${entry.path}\0`).join(''), 'latin1'),
      timeoutMs: IGNORE_MS,
    });
    // Exit code 1 means that none is ignored.
    if (code !== 0) return new Set();
    const found = stdout.toString('latin1').split('\0').slice(0, -1);
    return new Set(found.map(entry => entry.slice(HERE.length)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Copies an ignore file. One whose path is too long hides nothing. */
function layOut(folder: string, top: string, file: TreeEntry): void {
  try {
    const bytes = Buffer.concat(Array.from(treeContent(top, file), chunk => Buffer.from(chunk)));
    mkdirSync(placeIn(folder, path.posix.dirname(file.path)), { recursive: true });
    writeFileSync(placeIn(folder, file.path), bytes);
  } catch {
    // The files that it would hide stay visible.
  }
}

const HERE = './';
const IGNORE_BYTES_MAX = 1024 * 1024;
const IGNORE_FILES_MAX = 10_000;
const IGNORE_MS = 60_000;

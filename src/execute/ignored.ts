import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { askGit } from './git.ts';
import { placeIn, type TreeEntry } from './tree.ts';
import { contentOf } from './tree-import.ts';

/**
 * Which of these paths the .gitignore files of a tree hide. Git is asked about a folder of ours that has nothing but
 * copies of those files. Where it does not answer in time, nothing is hidden.
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
      // So that a name which begins with a colon is a name.
      input: Buffer.from(candidates.map(entry => `${HERE}${entry.path}\0`).join(''), 'latin1'),
      timeoutMs: IGNORE_MS,
    });
    // 1 is: none of them.
    if (code !== 0) return new Set();
    const found = stdout.toString('latin1').split('\0').slice(0, -1);
    return new Set(found.map(entry => entry.slice(HERE.length)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One that lies too deep for a folder of ours hides nothing. */
function layOut(folder: string, top: string, file: TreeEntry): void {
  try {
    const bytes = Buffer.concat(Array.from(contentOf(top, file), chunk => Buffer.from(chunk)));
    mkdirSync(placeIn(folder, path.posix.dirname(file.path)), { recursive: true });
    writeFileSync(placeIn(folder, file.path), bytes);
  } catch {
    // What it would hide is seen.
  }
}

const HERE = './';
const IGNORE_BYTES_MAX = 1024 * 1024;
const IGNORE_FILES_MAX = 10_000;
const IGNORE_MS = 60_000;

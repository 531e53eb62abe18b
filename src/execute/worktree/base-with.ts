import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileHash } from '../../base/file-hash.ts';
import { putFile } from './check-tree.ts';
import type { Clone } from './clone.ts';
import { indexed, packedRefs } from './clone-folder.ts';
import { packed } from './clone-objects.ts';
import { git } from './git.ts';
import type { TreeEntry } from './tree.ts';
import { blobName, commitOf, modeOf } from './tree-import.ts';
import { filesIn, listingOf } from './tree-state.ts';

/** What joins the base commit. All files are in the clone's tree already; each character of a path is one byte. */
export interface BaseEdits {
  readonly put: readonly TreeEntry[];
  readonly deleted: readonly string[];
}

/**
 * Makes the clone start from a commit with these edits. The commit has a fixed author and date, so its ID depends only
 * on its content and its parent. Without edits, the clone keeps its base.
 */
export async function baseWith(clone: Clone, edits: BaseEdits): Promise<Clone> {
  const { tree, trusted, baseSha, format } = clone;
  const base = filesIn(clone.baseFiles);
  const put = edits.put.filter(entry => {
    const before = base.get(entry.path);
    return before?.mode !== modeOf(entry) || before.sha !== blobName(tree, entry, format);
  });
  const deleted = edits.deleted.filter(at => base.has(at));
  if (put.length === 0 && deleted.length === 0) return clone;
  // Otherwise git would refuse to move the ref, or make its commit the parent.
  rmSync(path.join(trusted, 'refs', 'proctor'), { recursive: true, force: true });
  const isFirst = clone.kind === 'copy' && base.size === 0;
  const made = await commitOf(trusted, tree, {
    ...(!isFirst && { from: baseSha }),
    message: 'the base, as Proctor prepared it',
    put,
    deleted,
  });
  rmSync(path.join(trusted, 'refs', 'proctor'), { recursive: true, force: true });
  const gitDir = path.join(tree, '.git');
  await git(['read-tree', made], indexed(trusted, gitDir));
  const known = isFirst ? {} : { known: baseSha };
  await packed({ gitDir: trusted, head: made, isShallow: false, ...known }, gitDir);
  writeFileSync(path.join(gitDir, 'packed-refs'), packedRefs(clone.refs, made));
  return {
    ...clone,
    baseSha: made,
    ...(clone.kind === 'clone' && { baseFrom: baseSha }),
    baseFiles: await git(listingOf(made), { gitDir: trusted }),
    indexSha256: fileHash(path.join(gitDir, 'index')),
  };
}

/** Lays files over a tree below a folder of it. Returns the edits to a base that has these files. */
export function laidOver(
  top: string,
  below: string,
  files: ReadonlyMap<string, { readonly bytes: Buffer; readonly isExecutable: boolean }>,
  baseFiles: Iterable<string>,
): BaseEdits {
  const put = [...files].map(([name, { bytes, isExecutable }]): TreeEntry => {
    const at = Buffer.from(path.posix.join(below, name)).toString('latin1');
    putFile(top, at, [bytes], isExecutable);
    return { path: at, kind: 'file', bytes: bytes.length, isExecutable };
  });
  const names = new Set(put.map(({ path: at }) => at));
  const above = new Set(put.flatMap(({ path: at }) => foldersAbove(at)));
  // A file can take the place of a folder, and a folder that of a file or link.
  const deleted = [...baseFiles].filter(
    at => !names.has(at) && (above.has(at) || foldersAbove(at).some(folder => names.has(folder))),
  );
  return { put, deleted };
}

function foldersAbove(at: string): string[] {
  const names = at.split('/');
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('/'));
}

import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { codeOf, Fault, fullDisk } from '../../base/fault.ts';
import type { Clone } from './clone.ts';
import { writeDiff } from './diff-file.ts';
import { askGit, git } from './git.ts';
import { nameOf, placeIn, type TreeEntry, walkTree } from './tree.ts';
import { commitOf, treeContent } from './tree-import.ts';

/** The limits of a copied tree. They match those of an agent's work folder. */
const COPIED_ENTRIES_MAX = 500_000;
export const COPIED_BYTES_MAX = 2 * 1024 ** 3;

/** The code of the fault for a tree beyond these limits. Only the agent can make it so large. */
export const TREE_TOO_LARGE = 'tree_too_large';

/**
 * Copies what is below a path of a tree, without any `.git`. All paths have one character per byte. The tree may be
 * hostile: links are copied, never followed, and special files are left out. `leaveOut` names folders to leave out.
 */
export async function copyTree(
  from: string,
  to: string,
  below = '',
  leaveOut: (folder: string) => boolean = () => false,
): Promise<void> {
  let count = 0;
  let bytes = 0;
  try {
    for await (const entry of entriesBelow(from, below, leaveOut)) {
      bytes += entry.kind === 'file' ? entry.bytes : 0;
      if (++count > COPIED_ENTRIES_MAX || bytes > COPIED_BYTES_MAX) throw tooLarge();
      if (entry.kind === 'folder') makeTreeFolder(to, entry.path);
      else if (entry.kind === 'file' || entry.kind === 'link') copyOne(from, to, entry);
    }
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    if (codeOf(cause) === 'ENAMETOOLONG') throw tooLarge();
    throw new Fault('check_tree', `The work tree could not be copied for a check${fullDisk(cause)}.`, { cause });
  }
}

/** The files and symlinks of a tree that Proctor owns, by path, without any `.git`. */
export async function filesOfTree(top: string): Promise<Map<string, TreeEntry>> {
  const files = new Map<string, TreeEntry>();
  for await (const entry of walkTree(top, { isEntered: ({ path: at }) => nameOf(at) !== '.git', isOurs: true }))
    if (entry.kind === 'file' || entry.kind === 'link') files.set(entry.path, entry);
  return files;
}

async function* entriesBelow(
  top: string,
  below: string,
  leaveOut: (folder: string) => boolean,
): AsyncGenerator<TreeEntry> {
  if (below !== '') {
    const stat = lstatSync(placeIn(top, below), { throwIfNoEntry: false });
    if (stat === undefined || linkAbove(top, below)) return;
    if (!stat.isDirectory()) {
      const kind = stat.isFile() ? 'file' : stat.isSymbolicLink() ? 'link' : 'device';
      yield { path: below, kind, bytes: stat.size, isExecutable: (stat.mode & 0o100) !== 0 };
      return;
    }
  }
  const start = below === '' ? top : path.join(top, Buffer.from(below, 'latin1').toString());
  const within = (entry: TreeEntry): TreeEntry => (below === '' ? entry : { ...entry, path: `${below}/${entry.path}` });
  const isLeft = (entry: TreeEntry): boolean => nameOf(entry.path) === '.git' || leaveOut(within(entry).path);
  for await (const entry of walkTree(start, { isEntered: folder => !isLeft(folder), isOurs: true }))
    if (!isLeft(entry)) yield within(entry);
}

/** Whether a folder above this path is a symlink, so that the path leads elsewhere. */
function linkAbove(top: string, below: string): boolean {
  const names = below.split('/');
  return names.slice(0, -1).some((_, index) => {
    const stat = lstatSync(placeIn(top, names.slice(0, index + 1).join('/')), { throwIfNoEntry: false });
    return stat?.isDirectory() !== true;
  });
}

function tooLarge(): Fault {
  return new Fault(
    TREE_TOO_LARGE,
    `The work tree is too large or too deep for a check. The limits are ${COPIED_ENTRIES_MAX} entries and ${COPIED_BYTES_MAX / 1024 ** 3} GiB.`,
  );
}

/** Leaves out an unreadable entry. */
function copyOne(from: string, to: string, entry: TreeEntry): void {
  try {
    if (entry.kind === 'link') {
      putLink(to, entry.path, readlinkSync(placeIn(from, entry.path), 'buffer'));
    } else putFile(to, entry.path, treeContent(from, entry), entry.isExecutable);
  } catch (error) {
    if (fullDisk(error) !== '') throw error;
  }
}

/** Writes a file into a tree that Proctor owns. Replaces whatever is in its way, and follows no link. */
export function putFile(top: string, at: string, content: Iterable<Uint8Array>, isExecutable: boolean): void {
  clearPath(top, at);
  const place = placeIn(top, at);
  const fd = openSync(place, 'wx', 0o644);
  try {
    for (const chunk of content) writeSync(fd, chunk);
  } finally {
    closeSync(fd);
  }
  if (isExecutable) chmodSync(place, 0o755);
}

/** Creates a symlink in a tree that Proctor owns, in the same way. */
export function putLink(top: string, at: string, target: Buffer): void {
  clearPath(top, at);
  symlinkSync(target, placeIn(top, at));
}

/** Removes what is at a path, and makes the folders above it real folders. */
function clearPath(top: string, at: string): void {
  const above = path.posix.dirname(at);
  if (above !== '.') makeTreeFolder(top, above);
  removeAt(top, at);
}

/** Creates a folder, and replaces every file or link in its way. */
export function makeTreeFolder(top: string, at: string): void {
  const names = at.split('/').filter(name => name !== '' && name !== '.');
  for (let count = 1; count <= names.length; count++) {
    const here = names.slice(0, count).join('/');
    const place = placeIn(top, here);
    if (lstatSync(place, { throwIfNoEntry: false })?.isDirectory()) continue;
    removeAt(top, here);
    mkdirSync(place);
  }
}

/** Removes a path unless a folder above it is a link. Returns whether something was there. */
export function removeAt(top: string, at: string): boolean {
  if (linkAbove(top, at) || lstatSync(placeIn(top, at), { throwIfNoEntry: false }) === undefined) return false;
  rmSync(placeIn(top, at), { recursive: true, force: true });
  return true;
}

/** Checks out files of the base commit into an empty folder: those listed, or all of them. */
export async function checkOutBase(clone: Clone, folder: string, files?: readonly string[]): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const env = { GIT_INDEX_FILE: `${folder}.index` };
  const asking = { gitDir: clone.trusted, env, workTree: folder, cwd: folder, timeoutMs: CHECKOUT_MS };
  await git(['read-tree', clone.baseSha], asking);
  const listed = files && Buffer.from(files.map(file => `${file}\0`).join(''), 'latin1');
  const which = listed ? ['-z', '--stdin'] : ['--all'];
  await git(['checkout-index', '--force', '--quiet', ...which], { ...asking, ...(listed && { input: listed }) });
}

const CHECKOUT_MS = 300_000;

/** The text of a file in base; undefined if it is missing or larger than 1 MiB. */
export async function baseText(clone: Clone, sha: string | undefined): Promise<string | undefined> {
  if (sha === undefined) return undefined;
  const { code, stdout } = await askGit(['cat-file', 'blob', sha], { gitDir: clone.trusted });
  return code === 0 && stdout.length <= TEXT_BYTES_MAX ? stdout.toString() : undefined;
}

const TEXT_BYTES_MAX = 1024 * 1024;

/** Writes the agent's changes to these files as a diff against base. */
export async function diffOfFiles(
  clone: Clone,
  top: string,
  edits: { readonly put: readonly TreeEntry[]; readonly deleted: readonly string[] },
  out: string,
): Promise<{ readonly sha256: string; readonly bytes: number }> {
  // Git does not overwrite a ref with a commit that does not contain the old one.
  rmSync(path.join(clone.trusted, 'refs', 'proctor'), { recursive: true, force: true });
  const put = edits.put.filter(({ bytes }) => bytes <= DIFFED_BYTES_MAX);
  const message = 'the files that a check needs, as the agent left them';
  const commit = await commitOf(clone.trusted, top, { from: clone.baseSha, message, put, deleted: edits.deleted });
  const { sha256, bytes } = await writeDiff(clone.trusted, [clone.baseSha, commit], out, {
    bytesMax: DIFFED_BYTES_MAX,
    missed: undefined,
  });
  return { sha256, bytes };
}

const DIFFED_BYTES_MAX = 4 * 1024 * 1024;

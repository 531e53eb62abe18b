import { copyFileSync, constants, lstatSync, mkdirSync, readlinkSync, symlinkSync, chmodSync } from 'node:fs';
import { Fault } from '../../base/fault.ts';
import { nameOf, placeIn, type TreeEntry, walkTree } from './tree.ts';

const COPY_ENTRIES_MAX = 100_000;
const COPY_BYTES_MAX = 1024 ** 3;

/** Copies files, folders and symlinks. Returns the files and symlinks. */
export async function copyFolder(folder: string, tree: string): Promise<{ entries: TreeEntry[]; notes: string[] }> {
  const entries: TreeEntry[] = [];
  const skipped = { special: 0, unreadable: 0, repositories: 0 };
  let count = 0;
  let bytes = 0;
  for await (const entry of walkTree(folder, { isEntered, isOurs: false })) {
    if (!isEntered(entry)) {
      skipped.repositories += nameOf(entry.path) === '.git' ? 1 : 0;
      continue;
    }
    bytes += entry.kind === 'file' ? entry.bytes : 0;
    if (++count > COPY_ENTRIES_MAX || bytes > COPY_BYTES_MAX) throw tooLarge();
    if (entry.kind === 'folder') mkdirSync(placeIn(tree, entry.path), { recursive: true });
    else if (entry.kind === 'file' || entry.kind === 'link') {
      if (copyEntry(folder, tree, entry)) entries.push(asCopied(tree, entry));
      else skipped.unreadable++;
    } else skipped[entry.kind === 'unreadable' ? 'unreadable' : 'special']++;
  }
  return { entries, notes: notesOf(skipped) };
}

/** Run evidence, and nested repositories. */
const OURS: ReadonlySet<string> = new Set(['.git', '.proctor']);

function isEntered({ path }: TreeEntry): boolean {
  return !OURS.has(nameOf(path));
}

function tooLarge(): Fault {
  return new Fault(
    'usage',
    `The folder is not a repository and is too large to copy. The limits are ${COPY_ENTRIES_MAX} entries and ${COPY_BYTES_MAX / 1024 ** 2} MiB.`,
  );
}

function copyEntry(folder: string, tree: string, entry: TreeEntry): boolean {
  const from = placeIn(folder, entry.path);
  const to = placeIn(tree, entry.path);
  try {
    if (entry.kind === 'link') symlinkSync(readlinkSync(from, 'buffer'), to);
    else {
      copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
      chmodSync(to, entry.isExecutable ? 0o755 : 0o644);
    }
    return true;
  } catch {
    return false;
  }
}

/** The file may have grown since it was listed. */
function asCopied(tree: string, entry: TreeEntry): TreeEntry {
  return { ...entry, bytes: lstatSync(placeIn(tree, entry.path)).size };
}

function notesOf({ special, unreadable, repositories }: Record<'special' | 'unreadable' | 'repositories', number>) {
  return [
    ...(special > 0 ? [`The copy leaves out ${special} sockets, devices and other special files.`] : []),
    ...(unreadable > 0 ? [`The copy leaves out ${unreadable} unreadable entries.`] : []),
    ...(repositories > 0 ? [`The copy leaves out the .git of ${repositories} nested repositories.`] : []),
  ];
}

import { chmodSync, type Dirent, lstatSync, readdirSync } from 'node:fs';
import { setImmediate as others } from 'node:timers/promises';
import { isUtf8 } from 'node:buffer';
import { codeOf } from '../../base/fault.ts';
import { unsafePath } from '../../base/path.ts';

/** An entry of a tree. Names need not be valid text, so each character of a path is one byte (U+0000 to U+00FF). */
export interface TreeEntry {
  readonly path: string;
  readonly kind: 'file' | 'link' | 'folder' | 'fifo' | 'socket' | 'device' | 'unreadable';
  readonly bytes: number;
  readonly isExecutable: boolean;
}

/** The path of an entry, for system calls. */
export function placeIn(top: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(path === '' ? top : `${top}/`), Buffer.from(path, 'latin1')]);
}

export interface Walking {
  /** Whether to descend into a folder. The folder itself is always listed. */
  readonly isEntered: (folder: TreeEntry) => boolean;
  /** Restores removed permissions: a tree that Proctor owns cannot hide anything with them. */
  readonly isOurs: boolean;
}

/** Lists everything below a folder without following symlinks. */
export async function* walkTree(top: string, { isEntered, isOurs }: Walking): AsyncGenerator<TreeEntry> {
  const pending = [''];
  let count = 0;
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    const names = namesIn(placeIn(top, folder), isOurs);
    if (!names) {
      yield { path: folder, kind: 'unreadable', bytes: 0, isExecutable: false };
      continue;
    }
    for (const name of names) {
      const entry = entryAt(top, folder === '' ? name : `${folder}/${name}`);
      if (entry.kind === 'folder' && isEntered(entry)) pending.push(entry.path);
      yield entry;
      // Lets other work in this process run.
      if (++count % 1_000 === 0) await others();
    }
  }
}

/** The names in a folder, one character per byte; undefined if it is unreadable or not a folder. Follows a symlink. */
export function namesIn(folder: Buffer | string, isOurs: boolean): string[] | undefined {
  try {
    return listed(folder);
  } catch (error) {
    if (!isOurs || codeOf(error) !== 'EACCES') return undefined;
  }
  try {
    chmodSync(folder, 0o700);
    return listed(folder);
  } catch {
    return undefined;
  }
}

/** Whether this is a folder, not a symlink to one. */
export function isFolder(place: string): boolean {
  return lstatSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
}

function listed(folder: Buffer | string): string[] {
  return readdirSync(folder, { encoding: 'buffer' })
    .map(name => name.toString('latin1'))
    .sort();
}

function entryAt(top: string, path: string): TreeEntry {
  try {
    const stat = lstatSync(placeIn(top, path));
    return { path, kind: kindOf(stat), bytes: stat.size, isExecutable: (stat.mode & 0o100) !== 0 };
  } catch {
    return { path, kind: 'unreadable', bytes: 0, isExecutable: false };
  }
}

function kindOf(stat: Pick<Dirent, 'isFile' | 'isDirectory' | 'isSymbolicLink' | 'isFIFO' | 'isSocket'>) {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'folder';
  if (stat.isSymbolicLink()) return 'link';
  if (stat.isFIFO()) return 'fifo';
  return stat.isSocket() ? 'socket' : 'device';
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** A path for documents. Unsafe characters are percent-encoded, such as `%0A`. */
export function pathText(path: string): { readonly path: string; readonly encoded?: true } {
  const bytes = Buffer.from(path, 'latin1');
  const text = bytes.toString();
  if (isUtf8(bytes) && unsafePath(text) === undefined) return { path: text };
  return { path: encodedText(bytes), encoded: true };
}

function encodedText(bytes: Buffer): string {
  const text = isUtf8(bytes) ? bytes.toString() : bytes.toString('latin1');
  const isUnsafe = isUtf8(bytes) ? UNSAFE : NOT_ASCII;
  const plain = text.replace(isUnsafe, percent).replace(/^(?:~|[A-Za-z]:)/, percent);
  return unsafePath(plain) === undefined ? plain : plain.replaceAll('\\', percent);
}

const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;
const NOT_ASCII = /[^ -~]/g;

function percent(text: string): string {
  const bytes = [...Buffer.from(text, /[^\u0000-\u00ff]/.test(text) ? 'utf8' : 'latin1')];
  return bytes.map(byte => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}

/** Whether some file system treats the name as `.git`, because it ignores case or drops characters. */
export function isGitName(name: string): boolean {
  const text = Buffer.from(name, 'latin1').toString();
  return text.split(/[\\:]/).some(piece => /^(?:\.git|git~1)$/i.test(piece.replace(UNSEEN, '').replace(/[. ]+$/, '')));
}

/** Characters that a file system may drop from a name. */
const UNSEEN = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

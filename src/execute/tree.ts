import { chmodSync, type Dirent, lstatSync, readdirSync } from 'node:fs';
import { setImmediate as others } from 'node:timers/promises';
import { isUtf8 } from 'node:buffer';
import { codeOf } from '../base/fault.ts';
import { unsafePath } from '../base/path.ts';

/**
 * Something in a tree. Names are bytes on this system and need not be text, so a path has one character for each byte,
 * from U+0000 to U+00FF.
 */
export interface TreeEntry {
  readonly path: string;
  readonly kind: 'file' | 'link' | 'folder' | 'fifo' | 'socket' | 'device' | 'unreadable';
  readonly bytes: number;
  readonly isExecutable: boolean;
}

/** The place of an entry, for the system. */
export function placeIn(top: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(path === '' ? top : `${top}/`), Buffer.from(path, 'latin1')]);
}

export interface Walking {
  /** Whether to go into a folder. It is told in any case. */
  readonly isEntered: (folder: TreeEntry) => boolean;
  /** Rights that were taken away from us are taken back: a tree of ours hides nothing by its modes. */
  readonly isOurs: boolean;
}

/** Everything below a folder, without following a link. */
export async function* walk(top: string, { isEntered, isOurs }: Walking): AsyncGenerator<TreeEntry> {
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
      // Whoever else works in this process gets a turn.
      if (++count % 1_000 === 0) await others();
    }
  }
}

/** The names in a folder, one character for each byte; undefined where it cannot be read, or is none. A link is followed. */
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

/** The last name of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** A path as documents have it. What they may not hold is written as `%0A`, and the rest stays as it is. */
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

/** Whether some system takes a name for `.git`: not all tell upper from lower case, or keep every character. */
export function isGitName(name: string): boolean {
  const text = Buffer.from(name, 'latin1').toString();
  return text.split(/[\\:]/).some(piece => /^(?:\.git|git~1)$/i.test(piece.replace(UNSEEN, '').replace(/[. ]+$/, '')));
}

/** Characters that a file system may drop from a name. */
const UNSEEN = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

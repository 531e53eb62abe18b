import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { syncFolder, temporaryBeside } from './atomic.ts';
import { codeOf } from './fault.ts';
import { isMine } from './owner.ts';
import { makeFolders } from './private.ts';
import { namedStateFolder, stateFolder } from './state-folder.ts';

/** This user's key, stored outside all project folders. */
export interface StateKey {
  readonly bytes: Buffer;
  /** Why later processes will not have this key; undefined if it is stored. */
  readonly trouble: string | undefined;
}

/**
 * This user's key on this machine, created on first use. A process that cannot store it keeps a key in memory, so its
 * runs still work.
 */
export function makeStateKey(): StateKey {
  const named = namedStateFolder();
  const known = made.get(named);
  if (known) return known;
  const key = storedOrMade();
  made.set(named, key);
  return key;
}

/** The same key, or undefined if it does not exist. Never creates one. */
export function readStateKey(): StateKey | undefined {
  const known = made.get(namedStateFolder());
  if (known) return known;
  try {
    const folder = stateFolder();
    refuseLoose(folder);
    return { bytes: readKey(path.join(folder, KEY_FILE)), trouble: undefined };
  } catch {
    return undefined;
  }
}

const KEY_FILE = 'journal.key';
const KEY_BYTES = 32;

/** By the folder set with `useStateFolder`. */
const made = new Map<string | undefined, StateKey>();

function storedOrMade(): StateKey {
  try {
    const folder = stateFolder();
    const file = path.join(folder, KEY_FILE);
    makeFolders(folder);
    refuseLoose(folder);
    if (!existsSync(file)) writeKey(file);
    return { bytes: readKey(file), trouble: undefined };
  } catch (error) {
    const trouble = error instanceof Loose ? error.message : `the state folder cannot be used (${codeOf(error)})`;
    return { bytes: randomBytes(KEY_BYTES), trouble };
  }
}

class Loose extends Error {}

/** A user who can write here or read the key can forge this user's journals. */
function refuseLoose(folder: string): void {
  const stat = lstatSync(folder);
  if (stat.isSymbolicLink()) throw new Loose('the state folder is a symbolic link');
  if (!stat.isDirectory()) throw new Loose('the state folder is not a folder');
  if (!isMine(stat)) throw new Loose('the state folder belongs to another user');
  if (isOpen(stat)) throw new Loose('the state folder is open to other users (chmod 700 closes it)');
}

function isOpen({ mode }: Stats): boolean {
  return process.platform !== 'win32' && (mode & 0o077) !== 0;
}

/** If several processes create the key at once, one wins, and all use its key. */
function writeKey(file: string): void {
  const temporary = temporaryBeside(file);
  const fd = openSync(temporary, 'wx', 0o600);
  try {
    try {
      writeFileSync(fd, randomBytes(KEY_BYTES));
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    linkSync(temporary, file);
    syncFolder(path.dirname(file));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}

function readKey(file: string): Buffer {
  const fd = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || !isMine(stat))
      throw new Loose('the key in the state folder is not a regular file that you own');
    if (isOpen(stat)) throw new Loose('the key in the state folder is open to other users (chmod 600 closes it)');
    const bytes = Buffer.alloc(KEY_BYTES + 1);
    if (readSync(fd, bytes) !== KEY_BYTES) throw new Loose('the key in the state folder is damaged');
    return bytes.subarray(0, KEY_BYTES);
  } finally {
    closeSync(fd);
  }
}

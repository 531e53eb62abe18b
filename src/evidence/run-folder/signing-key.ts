import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  realpathSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { temporaryBeside } from '../../base/atomic.ts';
import { type KeyPair, newKeyPair, privateKeyIn } from '../../base/ed25519.ts';
import { codeOf, Fault } from '../../base/fault.ts';
import { isMineOrRoots } from '../../base/owner.ts';
import { printable } from '../../base/printable.ts';
import { makeFolders, modesIn, OWN_FILE } from '../../base/private.ts';
import { readRegular } from '../../base/regular.ts';
import { type Signer, signerWith } from '../../contracts/seal/signature.ts';

export function keyFileIn(home: string): string {
  return path.join(home, 'keys', 'signing.key');
}

/**
 * Loads the named key, else the home's key; undefined if there is neither. An existing key that cannot be used is a
 * fault, because users with a key rely on every seal being signed.
 */
export function signerFor(home: string, named?: string): Signer | undefined {
  const file = named ?? keyFileIn(home);
  const name = printable(path.basename(file));
  if (named === undefined && !isThere(file)) return undefined;
  let problem = 'is not a readable file of at most 64 KiB';
  const bytes = readRegular(realFile(file, name), KEY_BYTES_MAX, stat => {
    const loose = looseness(stat);
    problem = loose ?? problem;
    return loose === undefined;
  });
  if (!bytes) throw new Fault('bad_key', `The signing key ${name} ${problem}.`);
  const key = privateKeyIn(bytes.toString('latin1'));
  if (key) return signerWith(key);
  throw new Fault(
    'bad_key',
    `The signing key ${name} is not an Ed25519 private key in PEM format without a passphrase. Create one with \`proctor keys new\`.`,
  );
}

const KEY_BYTES_MAX = 64 * 1024;

/** A folder that cannot be searched may contain a key. */
function isThere(file: string): boolean {
  try {
    lstatSync(file);
    return true;
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes(codeOf(error));
  }
}

/** Secrets are often mounted as links, so the target's permissions count. */
function realFile(file: string, name: string): string {
  try {
    return realpathSync(file);
  } catch {
    throw new Fault('bad_key', `The signing key ${name} does not exist or cannot be read.`);
  }
}

/** Why another user may be able to read or change a key; undefined if no other user can. */
function looseness(stat: Stats): string | undefined {
  if (!isMineOrRoots(stat)) return 'belongs to another user';
  const isOpen = process.platform !== 'win32' && (stat.mode & 0o077) !== 0;
  return isOpen ? 'is accessible to other users: run chmod 600 on it' : undefined;
}

export interface NewKey {
  readonly keyId: string;
  readonly privateFile: string;
  readonly publicFile: string;
}

/** Creates a key pair. Never overwrites a key, because its signatures could no longer be verified. */
export function makeKey(privateFile: string): NewKey {
  const publicFile = `${privateFile.replace(/\.key$/, '')}.pub`;
  for (const file of [privateFile, publicFile]) if (isThere(file)) throw keyExists(file);
  const pair = newKeyPair();
  try {
    makeFolders(path.dirname(privateFile));
    writePair(pair, privateFile, publicFile);
  } catch (cause) {
    // Another process was faster.
    if (codeOf(cause) === 'EEXIST') throw keyExists(privateFile);
    throw new Fault('write_failed', 'The key could not be written.', { cause });
  }
  return { keyId: pair.keyId, privateFile, publicFile };
}

function keyExists(file: string): Fault {
  return new Fault('key_exists', `${printable(path.basename(file))} already exists. Proctor does not overwrite keys.`);
}

/** Creates a home's key and a .gitignore for it, in case the runs next to it are committed. */
export function makeKeyIn(home: string): NewKey {
  const key = makeKey(keyFileIn(home));
  const folder = path.dirname(key.privateFile);
  chmodSync(folder, 0o700);
  writeFileSync(path.join(folder, '.gitignore'), '*\n', { mode: OWN_FILE });
  return key;
}

function writePair({ privatePem, publicPem }: KeyPair, privateFile: string, publicFile: string): void {
  writeNew(privateFile, privatePem, OWN_FILE);
  try {
    writeNew(publicFile, publicPem, modesIn(path.dirname(publicFile)).file);
  } catch (error) {
    rmSync(privateFile, { force: true });
    throw error;
  }
}

/** Neither overwrites a file nor follows a link. Another process sees all of the file or none of it. */
function writeNew(file: string, text: string, mode: number): void {
  const temporary = temporaryBeside(file);
  const fd = openSync(temporary, 'wx', mode);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
    place(temporary, file);
  } finally {
    closeSync(fd);
    rmSync(temporary, { force: true });
  }
}

function place(temporary: string, file: string): void {
  try {
    linkSync(temporary, file);
  } catch (error) {
    if (!LINKLESS.has(codeOf(error))) throw error;
    copyFileSync(temporary, file, constants.COPYFILE_EXCL);
  }
}

/** What file systems without hard links answer. */
const LINKLESS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

import {
  chmodSync,
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  realpathSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { type KeyPair, newKeyPair, privateKeyIn } from '../base/ed25519.ts';
import { codeOf, Fault } from '../base/fault.ts';
import { isMineOrRoots } from '../base/owner.ts';
import { printable } from '../base/printable.ts';
import { makeFolders, modesIn, OWN_FILE } from '../base/private.ts';
import { readRegular } from '../base/regular.ts';
import { type Signer, signerWith } from '../contracts/seal/signature.ts';

/** Where the key of a home lies. */
export function keyFileIn(home: string): string {
  return path.join(home, 'keys', 'signing.key');
}

/**
 * Who signs what is sealed: the key that was named, else the one of the home; undefined if there is neither. A key that is
 * there and cannot be used is a fault, for whoever has a key relies on every seal being signed.
 */
export function signerFor(home: string, named?: string): Signer | undefined {
  const file = named ?? keyFileIn(home);
  const name = printable(path.basename(file));
  if (named === undefined && !isThere(file)) return undefined;
  let trouble = 'is not a file of at most 64 KiB that can be read';
  const bytes = readRegular(realFile(file, name), KEY_BYTES_MAX, stat => {
    const loose = looseness(stat);
    trouble = loose ?? trouble;
    return loose === undefined;
  });
  if (!bytes) throw new Fault('bad_key', `The signing key ${name} ${trouble}.`);
  const key = privateKeyIn(bytes.toString('latin1'));
  if (key) return signerWith(key);
  throw new Fault(
    'bad_key',
    `The signing key ${name} is not an Ed25519 private key in PEM without a passphrase. proctor keys new makes one.`,
  );
}

const KEY_BYTES_MAX = 64 * 1024;

/** A folder that cannot be looked into may hold a key. */
function isThere(file: string): boolean {
  try {
    lstatSync(file);
    return true;
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes(codeOf(error));
  }
}

/** Secrets are often handed to a program as links, and it is the file behind one that others must not read. */
function realFile(file: string, name: string): string {
  try {
    return realpathSync(file);
  } catch {
    throw new Fault('bad_key', `The signing key ${name} is not there, or not to be read.`);
  }
}

/** Why others may know or change a key; undefined if they do not. */
function looseness(stat: Stats): string | undefined {
  if (!isMineOrRoots(stat)) return 'belongs to another user';
  const isOpen = process.platform !== 'win32' && (stat.mode & 0o077) !== 0;
  return isOpen ? 'is open to other users: chmod 600 keeps it to you' : undefined;
}

export interface NewKey {
  readonly keyId: string;
  readonly privateFile: string;
  readonly publicFile: string;
}

/** Makes a key, its public half beside it. No key is ever written over: what it has signed could not be checked any more. */
export function makeKey(privateFile: string): NewKey {
  const publicFile = `${privateFile.replace(/\.key$/, '')}.pub`;
  for (const file of [privateFile, publicFile]) {
    if (isThere(file)) throw new Fault('key_exists', `There is a file ${printable(path.basename(file))} already.`);
  }
  const pair = newKeyPair();
  try {
    makeFolders(path.dirname(privateFile));
    writePair(pair, privateFile, publicFile);
  } catch (cause) {
    throw new Fault('write_failed', 'The key could not be written there.', { cause });
  }
  return { keyId: pair.keyId, privateFile, publicFile };
}

/** The same, where a home has its key. It is kept out of Git, whatever becomes of the runs beside it. */
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

/** Neither over a file nor through a link that came in the meantime. */
function writeNew(file: string, text: string, mode: number): void {
  const fd = openSync(file, 'wx', mode);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

import { chmodSync, chownSync, mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { newKeyPair } from '../../src/base/ed25519.ts';
import { keyFileIn, makeKeyIn, signerFor } from '../../src/evidence/signing-key.ts';
import { temporaryFolder } from '../support.ts';
import { put } from './script-world.ts';

const pair = newKeyPair();

/** A folder with a file that is called `k`. */
function withFile(content: string, mode = 0o600): string {
  const folder = temporaryFolder();
  put(folder, 'k', content);
  chmodSync(path.join(folder, 'k'), mode);
  return path.join(folder, 'k');
}

const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
const locked = generateKeyPairSync('ed25519').privateKey.export({
  type: 'pkcs8',
  format: 'pem',
  cipher: 'aes-256-cbc',
  passphrase: 'x',
});

describe('who signs', () => {
  test('is nobody where there is no key', () => {
    expect(signerFor(temporaryFolder())).toBe(undefined);
  });

  test('is the key of the home, or the one that is named, by its own name or by a link', () => {
    const home = temporaryFolder();
    const { keyId } = makeKeyIn(home);
    expect(signerFor(home)?.keyId).toBe(keyId);
    const named = withFile(pair.privatePem, 0o400);
    expect(signerFor(home, named)?.keyId).toBe(pair.keyId);
    symlinkSync(named, `${named}.link`);
    expect(signerFor(home, `${named}.link`)?.keyId).toBe(pair.keyId);
  });

  const bad: [string, () => string, RegExp][] = [
    ['is not there', () => path.join(temporaryFolder(), 'k'), /k does not exist or cannot be read/],
    ['is a folder', () => path.dirname(withFile('')), /is not a file of at most 64 KiB/],
    ['all can read', () => withFile(pair.privatePem, 0o604), /k is open to other users: chmod 600/],
    ['its group can read', () => withFile(pair.privatePem, 0o640), /k is open to other users/],
    ['its group can write', () => withFile(pair.privatePem, 0o620), /k is open to other users/],
    ['is empty', () => withFile(''), /k is not an Ed25519 private key in PEM without a passphrase/],
    ['is no key', () => withFile('hello'), /k is not an Ed25519 private key/],
    ['is a public key', () => withFile(pair.publicPem), /k is not an Ed25519 private key/],
    [
      'is of another kind',
      () => withFile(rsa.export({ type: 'pkcs8', format: 'pem' }) as string),
      /k is not an Ed25519/,
    ],
    ['has a passphrase', () => withFile(locked as string), /k is not an Ed25519 .* without a passphrase/],
    ['is large', () => withFile('x'.repeat(70_000)), /k is not a file of at most 64 KiB/],
  ];
  test.each(bad)('is nobody, and that is a fault, where a key %s', (_, make, said) => {
    const file = make();
    const signing = (): unknown => signerFor(temporaryFolder(), file);
    expect(signing).toThrow(said);
    expect(signing).not.toThrow(/PRIVATE|BEGIN|\//);
  });

  test.runIf(process.getuid?.() === 0)('is not the key of another user', () => {
    const file = withFile(pair.privatePem);
    chownSync(file, 12_345, 12_345);
    expect(() => signerFor(temporaryFolder(), file)).toThrow('The signing key k belongs to another user.');
  });

  test('is asked of the home as well: a key that is there and cannot be used is a fault', () => {
    const home = temporaryFolder();
    makeKeyIn(home);
    chmodSync(keyFileIn(home), 0o644);
    expect(() => signerFor(home)).toThrow('signing.key is open to other users');
    const other = temporaryFolder();
    mkdirSync(keyFileIn(other), { recursive: true, mode: 0o700 });
    expect(() => signerFor(other)).toThrow('signing.key is not a file');
  });
});

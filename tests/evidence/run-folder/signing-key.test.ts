import { chmodSync, chownSync, mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { newKeyPair } from '../../../src/base/ed25519.ts';
import { keyFileIn, makeKeyIn, signerFor } from '../../../src/evidence/run-folder/signing-key.ts';
import { temporaryFolder } from '../../support/support.ts';
import { put } from '../script/script-world.ts';

const pair = newKeyPair();

/** A folder with a file named `k`. */
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

describe('the signing key', () => {
  test('is undefined if there is none', () => {
    expect(signerFor(temporaryFolder())).toBe(undefined);
  });

  test('is the key in .proctor or the named key, even through a symlink', () => {
    const home = temporaryFolder();
    const { keyId } = makeKeyIn(home);
    expect(signerFor(home)?.keyId).toBe(keyId);
    const named = withFile(pair.privatePem, 0o400);
    expect(signerFor(home, named)?.keyId).toBe(pair.keyId);
    symlinkSync(named, `${named}.link`);
    expect(signerFor(home, `${named}.link`)?.keyId).toBe(pair.keyId);
  });

  const bad: [string, () => string, RegExp][] = [
    ['is missing', () => path.join(temporaryFolder(), 'k'), /k does not exist or cannot be read/],
    ['is a folder', () => path.dirname(withFile('')), /is not a readable file of at most 64 KiB/],
    [
      'is readable by everyone',
      () => withFile(pair.privatePem, 0o604),
      /k is accessible to other users: run chmod 600/,
    ],
    ['is readable by its group', () => withFile(pair.privatePem, 0o640), /k is accessible to other users/],
    ['is writable by its group', () => withFile(pair.privatePem, 0o620), /k is accessible to other users/],
    ['is empty', () => withFile(''), /k is not an Ed25519 private key in PEM format without a passphrase/],
    ['is not a key', () => withFile('hello'), /k is not an Ed25519 private key/],
    ['is a public key', () => withFile(pair.publicPem), /k is not an Ed25519 private key/],
    ['has another type', () => withFile(rsa.export({ type: 'pkcs8', format: 'pem' }) as string), /k is not an Ed25519/],
    ['has a passphrase', () => withFile(locked as string), /k is not an Ed25519 .* without a passphrase/],
    ['is too large', () => withFile('x'.repeat(70_000)), /k is not a readable file of at most 64 KiB/],
  ];
  test.each(bad)('causes a fault if it %s', (_, make, said) => {
    const file = make();
    const signing = (): unknown => signerFor(temporaryFolder(), file);
    expect(signing).toThrow(said);
    expect(signing).not.toThrow(/PRIVATE|BEGIN|\//);
  });

  test.runIf(process.getuid?.() === 0)('must not belong to another user', () => {
    const file = withFile(pair.privatePem);
    chownSync(file, 12_345, 12_345);
    expect(() => signerFor(temporaryFolder(), file)).toThrow('The signing key k belongs to another user.');
  });

  test('causes a fault if the key in .proctor is unusable', () => {
    const home = temporaryFolder();
    makeKeyIn(home);
    chmodSync(keyFileIn(home), 0o644);
    expect(() => signerFor(home)).toThrow('signing.key is accessible to other users');
    const other = temporaryFolder();
    mkdirSync(keyFileIn(other), { recursive: true, mode: 0o700 });
    expect(() => signerFor(other)).toThrow('signing.key is not a readable file');
  });
});

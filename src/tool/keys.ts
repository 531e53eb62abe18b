import path from 'node:path';
import { publicKeyIn } from '../base/ed25519.ts';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { meant, readRegular } from '../base/regular.ts';
import { type Checker, checkerWith, type Signer } from '../contracts/seal/index.ts';
import { homeFrom, makeHome } from '../evidence/runs.ts';
import { makeKey, makeKeyIn, type NewKey, signerFor } from '../evidence/signing-key.ts';

/** Makes a key that seals are signed with: in the file that is named, else where every run of this place finds it. */
export function newKey(cwd: string, out?: string): NewKey {
  if (out !== undefined) return makeKey(path.resolve(cwd, out));
  const home = homeFrom(cwd);
  makeHome(home);
  return makeKeyIn(home);
}

/** What the key is called that a run here would be signed with; undefined if it would not be signed. */
export function signingKeyId(cwd: string, signingKey?: string): string | undefined {
  return signerAt(cwd, signingKey)?.keyId;
}

/** Who signs the runs of a place. */
export function signerAt(cwd: string, signingKey?: string): Signer | undefined {
  // Whoever names a key wants signatures; a name that got lost on the way must not cost them.
  if (signingKey === '') throw new Fault('usage', 'The name of the signing key is empty. Name a file, or nothing.');
  return signerFor(homeFrom(cwd), signingKey === undefined ? undefined : path.resolve(cwd, signingKey));
}

/** The key that judgements are checked with: the public one that is named, else that of the place; undefined if there is none. */
export function checkerAt(
  cwd: string,
  { key, signingKey }: { readonly key?: string | undefined; readonly signingKey?: string | undefined },
): Checker | undefined {
  if (key === undefined) return signerAt(cwd, signingKey);
  const bytes = readRegular(meant(path.resolve(cwd, key)), KEY_BYTES_MAX);
  const publicKey = bytes && publicKeyIn(bytes.toString('latin1'));
  if (publicKey) return checkerWith(publicKey);
  const name = printable(path.basename(key));
  throw new Fault(
    'usage',
    `The key ${name} is not one Ed25519 public key in PEM, as proctor keys new writes it: .pub.`,
  );
}

/** The same for commands that only look: a key that cannot be used here does not keep anybody from looking. */
export function checkerIfUsable(cwd: string, signingKey?: string): Checker | undefined {
  try {
    return checkerAt(cwd, { signingKey });
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

const KEY_BYTES_MAX = 64 * 1024;

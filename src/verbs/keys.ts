import path from 'node:path';
import { publicKeyIn } from '../base/ed25519.ts';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { followLink, readRegular } from '../base/regular.ts';
import { type Checker, checkerWith, type Signer } from '../contracts/seal/index.ts';
import { homeFrom, makeHome } from '../evidence/run-folder/runs.ts';
import { makeKey, makeKeyIn, type NewKey, signerFor } from '../evidence/run-folder/signing-key.ts';

/** Creates a signing key in the named file, else in the project, where every run uses it. */
export function newKey(cwd: string, out?: string): NewKey {
  if (out !== undefined) return makeKey(path.resolve(cwd, out));
  const home = homeFrom(cwd);
  makeHome(home);
  return makeKeyIn(home);
}

/** The id of the key that signs runs in this project; undefined without a key. */
export function signingKeyId(cwd: string, signingKey?: string): string | undefined {
  return signerAt(cwd, signingKey)?.keyId;
}

/** The signer for runs in a folder; undefined without a key. */
export function signerAt(cwd: string, signingKey?: string): Signer | undefined {
  // An empty name more likely means an unset variable than a request for unsigned runs.
  if (signingKey === '')
    throw new Fault('usage', 'The name of the signing key is empty. Specify a file, or unset PROCTOR_KEY.');
  return signerFor(homeFrom(cwd), signingKey === undefined ? undefined : path.resolve(cwd, signingKey));
}

/** The key that checks evaluations: the named public key, else the project's; undefined without either. */
export function checkerAt(
  cwd: string,
  { key, signingKey }: { readonly key?: string | undefined; readonly signingKey?: string | undefined },
): Checker | undefined {
  if (key === undefined) return signerAt(cwd, signingKey);
  const bytes = readRegular(followLink(path.resolve(cwd, key)), KEY_BYTES_MAX);
  const publicKey = bytes && publicKeyIn(bytes.toString('latin1'));
  if (publicKey) return checkerWith(publicKey);
  const name = printable(path.basename(key));
  throw new Fault(
    'usage',
    `${name} is not an Ed25519 public key in PEM format. Specify the .pub file that proctor keys new wrote.`,
  );
}

/** The same for commands that only read, which must work even if the key is unusable. */
export function checkerIfUsable(cwd: string, signingKey?: string): Checker | undefined {
  try {
    return checkerAt(cwd, { signingKey });
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

const KEY_BYTES_MAX = 64 * 1024;

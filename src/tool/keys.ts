import path from 'node:path';
import { Fault } from '../base/fault.ts';
import type { Signer } from '../contracts/seal/index.ts';
import type { NewKey } from '../evidence/signing-key.ts';

/** Makes a key that seals are signed with: in the file that is named, else where every run of this place finds it. */
export async function newKey(cwd: string, out?: string): Promise<NewKey> {
  const [{ makeKey, makeKeyIn }, { homeFrom, makeHome }] = await Promise.all([
    import('../evidence/signing-key.ts'),
    import('../evidence/runs.ts'),
  ]);
  if (out !== undefined) return makeKey(path.resolve(cwd, out));
  const home = homeFrom(cwd);
  makeHome(home);
  return makeKeyIn(home);
}

/** What the key is called that a run here would be signed with; undefined if it would not be signed. */
export async function signingKeyId(cwd: string, signingKey?: string): Promise<string | undefined> {
  return (await signerAt(cwd, signingKey))?.keyId;
}

/** Who signs the runs of a place. */
export async function signerAt(cwd: string, signingKey?: string): Promise<Signer | undefined> {
  // Whoever names a key wants signatures; a name that got lost on the way must not cost them.
  if (signingKey === '') throw new Fault('usage', 'The name of the signing key is empty. Name a file, or nothing.');
  const [{ signerFor }, { homeFrom }] = await Promise.all([
    import('../evidence/signing-key.ts'),
    import('../evidence/runs.ts'),
  ]);
  return signerFor(homeFrom(cwd), signingKey === undefined ? undefined : path.resolve(cwd, signingKey));
}

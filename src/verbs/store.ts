import { existsSync } from 'node:fs';
import { Fault } from '../base/fault.ts';
import type { BlobStore } from '../store/store.ts';

/**
 * Opens a store by its address: `s3://bucket/prefix?endpoint=…`, or a folder. Its code is loaded only here. Credentials
 * come from the usual variables of `env`.
 */
export async function openStore(
  address: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<BlobStore> {
  if (!address.startsWith('s3://')) {
    const { FolderStore } = await import('../store/folder.ts');
    return new FolderStore(address);
  }
  const [{ S3Store }, { credentialsIn, parseS3Address }] = await Promise.all([
    import('../store/s3.ts'),
    import('../store/s3-address.ts'),
  ]);
  return new S3Store(parseS3Address(address), credentialsIn(env));
}

/** Removes the blobs that were not written for `ageMs`. Returns how many. */
export async function sweepStore(
  address: string,
  ageMs: number,
  env: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  if (ageMs < AGE_MS_MIN) throw new Fault('usage', 'Runs under way need their blobs. The age must be at least 1d.');
  if (!address.startsWith('s3://') && !existsSync(address))
    throw new Fault('usage', 'There is no such folder. Specify the store of your conductors and workers.');
  const store = await openStore(address, env);
  return store.sweep(ageMs, new Set());
}

const AGE_MS_MIN = 86_400_000;

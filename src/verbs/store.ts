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

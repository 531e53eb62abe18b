import { canonicalize } from '../../base/canonical.ts';
import { bytesHash, type ContentHash } from '../../base/hash.ts';

/** The digest of a published version: over the sorted paths, modes and hashes of its files. */
export function versionDigest(
  files: readonly { readonly path: string; readonly mode: string; readonly sha256: string }[],
): ContentHash {
  return bytesHash(canonicalize(files.map(({ path, mode, sha256 }) => ({ path, mode, sha256 }))));
}

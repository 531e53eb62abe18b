import type { ContentHash } from '../base/hash.ts';

/**
 * The port to the blobs that attempts need and produce, such as large cases and replies. A blob is named by its SHA-256,
 * so writing it twice writes the same bytes.
 *
 * Every method may reject with a `store_unavailable` fault. Every call may be repeated.
 */
export interface BlobStore {
  /** Stores bytes under their digest. Rejects with `blob_mismatch` if they have another digest, or exceed `bytesMax`. */
  put(digest: ContentHash, bytes: AsyncIterable<Uint8Array>, bytesMax: number): Promise<void>;
  /**
   * The bytes of a blob; undefined if the store does not have it. The digest is checked on the way: the last step of the
   * iteration throws `blob_mismatch` if the bytes have changed, so a reader must not use them before the end.
   */
  get(digest: ContentHash): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Those of the digests that the store does not have. */
  missing(digests: readonly ContentHash[]): Promise<readonly ContentHash[]>;
  /** Removes blobs that are older than `ageMs` and not in `keep`. Returns how many. `put` renews the age of a blob. */
  sweep(ageMs: number, keep: ReadonlySet<ContentHash>): Promise<number>;
}

import { Fault } from '../base/fault.ts';
import { bytesHash, type ContentHash } from '../base/hash.ts';
import { blobBytes } from '../store/blob-bytes.ts';
import type { BlobStore } from '../store/store.ts';

/** A blob that a request names. */
interface NamedBlob {
  /** For messages: "script". */
  readonly what: string;
  readonly sha256: string;
  /** The exact size, or the largest. */
  readonly bytes?: number;
  readonly bytesMax: number;
}

/** The bytes of a blob, from a store that others write to. Rejects if they are not those that the request names. */
export async function namedBlob(
  store: BlobStore | undefined,
  { what, sha256, bytes, bytesMax }: NamedBlob,
): Promise<Buffer> {
  if (bytes !== undefined && bytes > bytesMax)
    throw new Fault('attempt_request', `The ${what} is larger than ${bytesMax / 1024 ** 2} MiB.`);
  const blob = await blobBytes(store, sha256 as ContentHash, bytes ?? bytesMax);
  if (blob === 'missing')
    throw new Fault('no_blob', `The ${what} is not in the store of this worker. Start it with the same --store.`);
  const isOther = blob === 'too large' || (bytes !== undefined && blob.length !== bytes) || bytesHash(blob) !== sha256;
  if (isOther) throw new Fault('blob_mismatch', `The store has other bytes than the ${what} that the suite names.`);
  return blob;
}

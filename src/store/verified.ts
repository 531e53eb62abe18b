import { createHash } from 'node:crypto';
import { Fault } from '../base/fault.ts';
import type { ContentHash } from '../base/hash.ts';

/** Passes bytes on, and throws at their end if they have another digest, or as soon as they exceed `bytesMax`. */
export async function* verified(
  digest: ContentHash,
  bytes: AsyncIterable<Uint8Array>,
  bytesMax = Number.POSITIVE_INFINITY,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let length = 0;
  for await (const piece of bytes) {
    length += piece.length;
    if (length > bytesMax) throw new Fault('blob_mismatch', `The blob is larger than ${bytesMax} bytes.`);
    hash.update(piece);
    yield piece;
  }
  if (`sha256:${hash.digest('hex')}` !== digest) {
    throw new Fault('blob_mismatch', 'The bytes of the blob do not have its digest.');
  }
}

/** The hexadecimal digits of a digest: the name of a blob. Refuses anything else, because it becomes part of a path. */
export function storedName(digest: ContentHash): string {
  const name = /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1];
  if (name === undefined) throw new Fault('blob_name', 'A blob is named by sha256: and 64 hexadecimal digits.');
  return name;
}

/** The digest of a blob, by its name; undefined for any other name. */
export function storedDigest(name: string): ContentHash | undefined {
  return /^[0-9a-f]{64}$/.test(name) ? `sha256:${name}` : undefined;
}

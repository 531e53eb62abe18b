import { hash } from 'node:crypto';
import { canonicalize } from './canonical.ts';

/** `sha256:` and 64 hexadecimal digits. */
export type ContentHash = `sha256:${string}`;

export function isContentHash(value: unknown): value is ContentHash {
  return typeof value === 'string' && /^sha256:[0-9a-f]{64}$/.test(value);
}

/** The hash of a document: its canonical bytes and one line feed. */
export function contentHash(value: unknown): ContentHash {
  return bytesHash(`${canonicalize(value)}\n`);
}

/** The hash of unmodified bytes. */
export function bytesHash(bytes: string | Uint8Array): ContentHash {
  return `sha256:${hash('sha256', bytes, 'hex')}`;
}

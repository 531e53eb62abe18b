import { contentHash } from '../../base/hash.ts';
import type { Profile } from '../profile/shape.ts';

/** Hashes all keys except `bundle_id`. */
export function bundleIdOf(bundle: { readonly [key: string]: unknown }): string {
  const { bundle_id: _, ...rest } = bundle;
  return idOf('bundle', rest);
}

/** Depends only on the bundle and the profile. */
export function sandboxIdOf(bundleId: string, policy: Profile): string {
  return idOf('sandbox', { bundle_id: bundleId, policy, backend: 'process' });
}

/** A prefix and 16 hexadecimal digits of the content hash. */
export function idOf(prefix: string, content: unknown): string {
  return `${prefix}_${contentHash(content).slice('sha256:'.length, 'sha256:'.length + 16)}`;
}

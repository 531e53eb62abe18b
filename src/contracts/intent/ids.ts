import { contentHash } from '../../base/hash.ts';
import type { Profile } from '../profile/shape.ts';

/** `bundle_` and 16 hexadecimal digits of the hash of everything else in it. */
export function bundleIdOf(bundle: { readonly [key: string]: unknown }): string {
  const { bundle_id: _, ...rest } = bundle;
  return idOf('bundle', rest);
}

/** A sandbox is called after what was done in it, and under which profile. */
export function sandboxIdOf(bundleId: string, policy: Profile): string {
  return idOf('sandbox', { bundle_id: bundleId, policy, backend: 'process' });
}

/** A prefix and 16 hexadecimal digits of a content hash: the same for the same content, whenever and wherever. */
export function idOf(prefix: string, content: unknown): string {
  return `${prefix}_${contentHash(content).slice('sha256:'.length, 'sha256:'.length + 16)}`;
}

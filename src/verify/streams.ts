import type { ScriptOutcome } from '../contracts/script-outcome/index.ts';
import type { Surroundings } from './inspector.ts';

type Stream = ScriptOutcome['streams'][number];

/**
 * Stream files that do not match the hashes in their outcome. Proctor hashed the original stream, so only an unmasked,
 * complete copy can be compared.
 */
export function* changedStreams(
  streams: readonly Stream[],
  fileOf: (name: Stream['name']) => string,
  { tree, hashOf }: Surroundings,
): Generator<string> {
  for (const { name, sha256, truncated, masked } of streams) {
    const file = fileOf(name);
    if (!truncated && masked === 0 && tree.files.has(file) && hashOf(file) !== sha256) yield file;
  }
}

export const CHANGED_STREAM = 'does not match the hash that the outcome states';

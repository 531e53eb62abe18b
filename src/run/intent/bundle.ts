import { bytesHash } from '../../base/hash.ts';
import { compare } from '../../contracts/check.ts';
import { type Bundle, bundleIdOf, type Intent } from '../../contracts/intent/index.ts';
import type { Profile } from '../../contracts/profile/shape.ts';
import type { Question } from './questions.ts';

/** Exactly what would be done for an intent under a profile, and what is still to be asked. */
export function bundleOf(
  intent: Intent,
  intentSha256: string,
  profile: Profile,
  questions: readonly Pick<Question, 'id' | 'key' | 'text'>[],
): Bundle {
  const { files = [], commands = [], outputs = [], accept = [], limits = {} } = intent;
  const rest: Omit<Bundle, 'bundle_id'> = {
    schema_version: 'bundle.v1',
    intent_sha256: intentSha256,
    status: questions.length === 0 ? 'complete' : 'incomplete',
    files: files
      .map(({ path, content }) => ({ path, sha256: bytesHash(content), size_bytes: Buffer.byteLength(content) }))
      .sort((a, b) => compare(a.path, b.path)),
    commands: commands.map(command => ({ argv: argvOf(command) })),
    outputs: [...outputs].sort(compare),
    accept,
    limits: {
      timeout_ms: limits.timeout_ms ?? profile.timeout_ms,
      max_output_files: limits.max_output_files ?? profile.max_output_files,
      max_total_output_bytes: limits.max_total_output_bytes ?? profile.max_total_output_bytes,
    },
    network: intent.network === true,
    write_roots: writeRootsOf(profile),
    questions: questions.map(({ id, key, text }) => ({ id, key, text })),
  };
  return { bundle_id: bundleIdOf(rest), ...rest };
}

/** The words of a command. A shell is a program like any other, and has to be allowed by name. */
export function argvOf({ argv, shell }: NonNullable<Intent['commands']>[number]): string[] {
  return shell === undefined ? (argv ?? []) : ['sh', '-c', shell];
}

/** Sorted, as a runner record has them; everywhere in the work folder is `.`. */
function writeRootsOf({ allowed_write_roots: roots }: Profile): string[] {
  return roots.length === 0 ? ['.'] : [...new Set(roots)].sort(compare);
}

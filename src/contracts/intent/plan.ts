import { bytesHash } from '../../base/hash.ts';
import { compare } from '../check.ts';
import type { Profile } from '../profile/shape.ts';
import type { Bundle } from './bundle.ts';
import type { Intent } from './intent.ts';

/** What of a bundle follows from its intent and a profile alone. */
export type Plan = Pick<Bundle, 'files' | 'commands' | 'outputs' | 'accept' | 'limits' | 'network' | 'write_roots'>;

/** Exactly what would be done for an intent under a profile. Whoever verifies a bundle makes its plan again. */
export function planOf(intent: Intent, profile: Profile): Plan {
  const { files = [], commands = [], outputs = [], accept = [], limits = {} } = intent;
  return {
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
  };
}

/** The words of a command. A shell is a program like any other, and has to be allowed by name. */
export function argvOf({ argv, shell }: NonNullable<Intent['commands']>[number]): string[] {
  return shell === undefined ? (argv ?? []) : ['sh', '-c', shell];
}

/** Sorted, as a runner record has them; everywhere in the work folder is `.`. */
function writeRootsOf({ allowed_write_roots: roots }: Profile): string[] {
  return roots.length === 0 ? ['.'] : [...new Set(roots)].sort(compare);
}

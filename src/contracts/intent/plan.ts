import { bytesHash } from '../../base/hash.ts';
import { compare } from '../check.ts';
import type { Profile } from '../profile/shape.ts';
import type { Bundle } from './bundle.ts';
import type { Intent } from './intent.ts';

/** The part of a bundle that depends only on the intent and the profile. */
export type Plan = Pick<Bundle, 'files' | 'commands' | 'outputs' | 'accept' | 'limits' | 'network' | 'write_roots'>;

/** The plan for an intent under a profile. The verifier recomputes it to check a bundle. */
export function intentPlan(intent: Intent, profile: Profile): Plan {
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

/** A shell is an ordinary program, so the profile must allow `sh` by name. */
export function argvOf({ argv, shell }: NonNullable<Intent['commands']>[number]): string[] {
  return shell === undefined ? (argv ?? []) : ['sh', '-c', shell];
}

/** Sorted as in a runner record. `.` means the whole work folder. */
function writeRootsOf({ allowed_write_roots: roots }: Profile): string[] {
  return roots.length === 0 ? ['.'] : [...new Set(roots)].sort(compare);
}

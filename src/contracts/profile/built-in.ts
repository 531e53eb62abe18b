import type { Profile } from './shape.ts';

/** An empty list allows everything. The order of the lists is part of each profile's hash. */
export const builtInProfiles: Readonly<Record<'strict' | 'default' | 'dev', Profile>> = {
  strict: {
    name: 'strict',
    allow_network: false,
    timeout_ms: 30_000,
    max_output_files: 200,
    max_total_output_bytes: 10_485_760,
    allowed_commands: ['node', 'npm'],
    allowed_write_roots: ['out', 'dist', 'build'],
  },
  default: {
    name: 'default',
    allow_network: false,
    timeout_ms: 60_000,
    max_output_files: 500,
    max_total_output_bytes: 52_428_800,
    allowed_commands: ['node', 'npm', 'npx'],
    allowed_write_roots: ['out', 'dist', 'build', 'tmp'],
  },
  dev: {
    name: 'dev',
    allow_network: false,
    timeout_ms: 300_000,
    max_output_files: 1_000,
    max_total_output_bytes: 104_857_600,
    allowed_commands: [],
    allowed_write_roots: [],
  },
};

export function builtInProfile(name: string): Profile | undefined {
  return Object.hasOwn(builtInProfiles, name) ? builtInProfiles[name as keyof typeof builtInProfiles] : undefined;
}

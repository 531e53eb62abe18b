import { canonicalize } from '../../base/canonical.ts';
import { unsafePath } from '../../base/path.ts';
import { type Contract, MIB } from '../contract.ts';
import { uniqueAdvice } from '../lists.ts';
import { must, mustWhenStrict, NO_UNKNOWN_KEYS, rulesFor } from '../rule.ts';
import { builtInProfile, builtInProfiles } from './built-in.ts';
import { type Profile, profileShape } from './shape.ts';
import { PL } from './invariants.ts';

export { builtInProfile, builtInProfiles } from './built-in.ts';
export type { Profile };

const rule = rulesFor<Profile>();

const PL1 = rule({
  ...PL.PL1,
  asks: ['name has at most 64 lower-case letters, digits and hyphens, and starts with a letter'],
  fields: ['name'],
  breach: profile => ({ ...profile, name: '' }),
});

const PL2 = rule({
  ...PL.PL2,
  asks: [
    'allow_network is true or false; allowed_commands and allowed_write_roots are lists of strings',
    NO_UNKNOWN_KEYS,
  ],
  fields: ['allow_network', 'allowed_commands', 'allowed_write_roots'],
  breach: profile => ({ ...profile, allow_network: 'no' }),
});

const PL3 = rule({
  ...PL.PL3,
  asks: [
    'timeout_ms is from 1,000 to 600,000',
    'max_output_files is from 1 to 10,000',
    'max_total_output_bytes is from 1,024 to 1,073,741,824',
    'should (must, when strict): they are integers',
  ],
  fields: ['timeout_ms', 'max_output_files', 'max_total_output_bytes'],
  *check(limits, context) {
    for (const name of ['timeout_ms', 'max_output_files', 'max_total_output_bytes'] as const) {
      if (!Number.isInteger(limits[name])) yield mustWhenStrict(context, name, 'should be an integer');
    }
  },
  breach: profile => ({ ...profile, timeout_ms: 600_001 }),
});

const PL6 = rule({
  ...PL.PL6,
  asks: [
    'commands are bare names of programs',
    'write roots are relative paths without ..',
    'should: no entry is a duplicate',
  ],
  fields: [],
  reads: ['allowed_commands', 'allowed_write_roots'],
  *check({ allowed_commands, allowed_write_roots }) {
    for (const [index, command] of allowed_commands.entries()) {
      if (!/^[A-Za-z0-9._+-]{1,64}$/.test(command))
        yield must(`allowed_commands[${index}]`, 'must be the bare name of a program');
    }
    for (const [index, root] of allowed_write_roots.entries()) {
      const reason = unsafePath(root);
      if (reason) yield must(`allowed_write_roots[${index}]`, reason);
    }
    yield* uniqueAdvice(allowed_commands, 'allowed_commands');
    yield* uniqueAdvice(allowed_write_roots, 'allowed_write_roots');
  },
  breach: profile => ({ ...profile, allowed_write_roots: ['../elsewhere'] }),
});

const PL7 = rule({
  ...PL.PL7,
  asks: [
    'strict: no network, 30 s, 200 files, 10 MiB, node and npm, writes to out, dist and build',
    'default: no network, 60 s, 500 files, 50 MiB, node, npm and npx, writes to out, dist, build and tmp',
    'dev: no network, 300 s, 1,000 files, 100 MiB, any command, writes anywhere in the work folder',
    'a profile with different content has a different name',
  ],
  fields: [],
  reads: [
    'name',
    'allow_network',
    'timeout_ms',
    'max_output_files',
    'max_total_output_bytes',
    'allowed_commands',
    'allowed_write_roots',
  ],
  *check(profile) {
    const builtIn = builtInProfile(profile.name);
    if (builtIn && canonicalize(profile) !== canonicalize(builtIn)) {
      yield must('name', 'is reserved for a built-in profile with different content');
    }
  },
  breach: () => ({ ...builtInProfiles.strict, timeout_ms: 60_000 }),
});

export const profile: Contract = {
  name: 'profile',
  title: 'Policy profile',
  tells: 'What a run may do: network access, time, output, commands and write roots.',
  source: 'Policy profiles',
  fileNames: ['policy.json'],
  shape: profileShape,
  rules: [PL1, PL2, PL3, PL6, PL7],
  unknownKeys: 'PL2',
  beyond: ['whether a run follows PL4 and PL5, which apply to its result'],
  bytesMax: MIB,
  example: { ...builtInProfiles.default, name: 'nightly', timeout_ms: 120_000 },
};

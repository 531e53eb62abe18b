import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/base/fault.ts';
import { builtInProfiles } from '../../src/contracts/profile/built-in.ts';
import { effectiveLimits, type Offer, type Requested } from '../../src/policy/effective-limits.ts';
import type { MachineKind, MachineLimits } from '../../src/policy/limits.ts';

const { strict, default: usual, dev } = builtInProfiles;
const machine = (kind: MachineKind, can: boolean): MachineLimits => ({ kind, dividesCpus: can, countsSockets: can });
const NONE: Offer = { sandbox: 'none', isolation: 'none', lacks: [], machine: machine('no_sandbox', true) };
const STRICT: Offer = { sandbox: 'process', isolation: 'strict', lacks: [], machine: machine('cgroup_v1', true) };
const STANDARD: Offer = {
  sandbox: 'process',
  isolation: 'standard',
  lacks: ['limits on memory', 'filters'],
  machine: machine('no_groups', false),
};
const UNUSABLE: Offer = { ...STRICT, unusable: 'The sandbox needs programs that are not installed: bwrap.' };

function refusal(requested: Requested, process: Offer | null = STRICT): string {
  try {
    effectiveLimits(requested, process ? [NONE, process] : [NONE]);
  } catch (fault) {
    if (fault instanceof Fault) return `${fault.code}: ${fault.message}`;
    throw fault;
  }
  return 'accepted';
}

describe('a run without requested limits', () => {
  test('gets the sandbox, a blocked network and all defaults', () => {
    expect(effectiveLimits({}, [NONE, STRICT])).toEqual({
      sandbox: 'process',
      isolation: 'strict',
      network: 'blocked',
      machine: STRICT.machine,
      timeoutMs: 60_000,
      memoryBytes: 1024 ** 3,
      pids: 256,
      outputFilesMax: 1_000,
      outputBytesMax: 500 * 1024 ** 2,
      warnings: [],
    });
  });

  test('gets standard isolation with warnings if the machine cannot offer strict', () => {
    const { isolation, warnings } = effectiveLimits({}, [NONE, STANDARD]);
    expect(isolation).toBe('standard');
    expect(warnings).toEqual([
      expect.stringMatching(/^limit_watched: memory_bytes: /),
      'standard, not strict: there are no filters',
      'standard, not strict: there are no limits on memory',
    ]);
  });
});

describe('a run without a sandbox', () => {
  test.each([{ sandbox: 'none' }, { isolation: 'none' }, { sandbox: 'none', isolation: 'none' }] as const)(
    '%j claims no limit that is not enforced',
    requested => {
      const effective = effectiveLimits(requested, [NONE, STRICT]);
      expect(effective).toMatchObject({ sandbox: 'none', isolation: 'none', network: 'open', timeoutMs: 60_000 });
      for (const key of ['memoryBytes', 'pids', 'cpuSeconds']) expect(effective).not.toHaveProperty(key);
    },
  );

  test('works even if the sandbox is unusable', () => {
    expect(effectiveLimits({ sandbox: 'none' }, [NONE, UNUSABLE]).sandbox).toBe('none');
  });

  test('keeps the time limits, which need no sandbox', () => {
    expect(effectiveLimits({ sandbox: 'none', timeoutMs: 5_000, idleMs: 500 }, [NONE])).toMatchObject({
      timeoutMs: 5_000,
      idleMs: 500,
    });
  });

  test('accepts a profile that allows the network', () => {
    const open = { ...dev, name: 'lab', allow_network: true };
    expect(effectiveLimits({ sandbox: 'none', profile: open }, [NONE]).network).toBe('open');
  });
});

describe('a limit that cannot be enforced', () => {
  const BARE = (what: string): string => `not_enforceable: Proctor cannot enforce ${what} without a sandbox.`;
  const NOT_STRICT = (flags: string): string =>
    `not_enforceable: Cannot enforce strict isolation here: there are no limits on memory and no filters. Run proctor doctor to see how to fix it, or remove ${flags}.`;
  const rows: [string, Requested, Offer | null, string][] = [
    [
      'isolation "strict" without a sandbox',
      { sandbox: 'none', isolation: 'strict' },
      STRICT,
      BARE('isolation "strict"'),
    ],
    [
      'isolation "standard" without a sandbox',
      { sandbox: 'none', isolation: 'standard' },
      STRICT,
      BARE('isolation "standard"'),
    ],
    ['the profile strict without a sandbox', { sandbox: 'none', profile: strict }, STRICT, BARE('isolation "strict"')],
    [
      'a profile that blocks the network, without a sandbox',
      { sandbox: 'none', profile: usual },
      STRICT,
      BARE('a blocked network, which profile default requires'),
    ],
    ['memory without a sandbox', { sandbox: 'none', memoryBytes: 1024 ** 3 }, STRICT, BARE('a limit on memory')],
    ['processes without a sandbox', { sandbox: 'none', pids: 10 }, STRICT, BARE('a limit on processes')],
    ['CPU time without a sandbox', { isolation: 'none', cpuSeconds: 10 }, STRICT, BARE('a limit on CPU time')],
    ['a CPU share without a sandbox', { sandbox: 'none', cpus: 1 }, STRICT, BARE('a CPU share')],
    [
      'a CPU share without control groups',
      { cpus: 0.5 },
      STANDARD,
      'not_enforceable: Cannot enforce --cpus here: it requires control groups with a cpu controller. Remove it, or run proctor doctor.',
    ],
    ['strict isolation on a standard machine', { isolation: 'strict' }, STANDARD, NOT_STRICT('--isolation strict')],
    ['the profile strict on a standard machine', { profile: strict }, STANDARD, NOT_STRICT('--profile strict')],
    [
      'the policy strict of an intent on a standard machine',
      { profile: strict, bindsAll: true, sandbox: 'process' },
      STANDARD,
      NOT_STRICT('--policy strict'),
    ],
    [
      'strict isolation and the profile strict on a standard machine',
      { isolation: 'strict', profile: strict },
      STANDARD,
      NOT_STRICT('--isolation strict and --profile strict'),
    ],
    [
      'a sandbox with isolation "none"',
      { sandbox: 'process', isolation: 'none' },
      STRICT,
      'usage: Isolation "none" means no sandbox. Remove --sandbox process or --isolation none.',
    ],
    ['a sandbox that is not offered', { sandbox: 'process' }, null, 'no_sandbox: Unknown sandbox "process".'],
    [
      'a sandbox that is not installed',
      {},
      UNUSABLE,
      'sandbox_unavailable: The sandbox needs programs that are not installed: bwrap. Run proctor doctor to see how to install them, or use --sandbox none to run without isolation.',
    ],
    [
      'a requested sandbox that is not installed',
      { sandbox: 'process' },
      UNUSABLE,
      'sandbox_unavailable: The sandbox needs programs that are not installed: bwrap. Run proctor doctor to see how to install them.',
    ],
    [
      'isolation from a sandbox that is not installed',
      { isolation: 'standard' },
      UNUSABLE,
      'sandbox_unavailable: The sandbox needs programs that are not installed: bwrap. Run proctor doctor to see how to install them.',
    ],
  ];
  test.each(rows)('is refused, and the message names it: %s', (_, requested, offer, sentence) => {
    expect(refusal(requested, offer)).toBe(sentence);
  });

  test('is not refused if the machine offers more than requested', () => {
    expect(effectiveLimits({ isolation: 'standard' }, [NONE, STRICT]).isolation).toBe('strict');
    expect(refusal({ profile: strict })).toBe('accepted');
    expect(refusal({ profile: usual }, STANDARD)).toBe('accepted');
  });
});

describe('a CPU share', () => {
  test('is enforced if control groups support it', () => {
    expect(effectiveLimits({ cpus: 0.5 }, [NONE, STRICT]).cpus).toBe(0.5);
  });

  test.each([0, 0.009, -1, 1_025, Number.NaN])('of %s is out of range', cpus => {
    expect(refusal({ cpus })).toBe('out_of_bounds: The CPU share must be from 0.01 to 1024.');
  });
});

describe('a limit', () => {
  const rows: [keyof Requested, number, number, string][] = [
    ['timeoutMs', 1_000, 600_000, 'The timeout must be from 1s to 10m.'],
    ['idleMs', 100, 600_000, 'The idle timeout must be from 100ms to 10m.'],
    ['memoryBytes', 16 * 1024 ** 2, 1024 ** 4, 'The memory limit must be from 16m to 1024g.'],
    ['cpuSeconds', 1, 86_400, 'The CPU time must be from 1 to 86400 seconds.'],
    ['pids', 1, 100_000, 'The number of processes must be from 1 to 100000.'],
    ['outputFilesMax', 1, 10_000, 'The number of output files must be from 1 to 10000.'],
    ['outputBytesMax', 1_024, 1024 ** 3, 'The output limit must be from 1k to 1g.'],
  ];
  test.each(rows)(
    '%s accepts integers from %d to %d and rejects everything else',
    (key, minimum, maximum, sentence) => {
      for (const value of [minimum, maximum]) {
        expect(effectiveLimits({ [key]: value }, [NONE, STRICT])).toHaveProperty(key, value);
      }
      const outside = [minimum - 1, maximum + 1, minimum + 0.5, 0, -1, Number.NaN, Number.POSITIVE_INFINITY];
      for (const value of outside) expect(refusal({ [key]: value }), String(value)).toBe(`out_of_bounds: ${sentence}`);
    },
  );

  test('that is out of range is refused before the machine is checked', () => {
    expect(refusal({ timeoutMs: 1 }, UNUSABLE)).toContain('out_of_bounds');
  });
});

describe('a profile', () => {
  const UNUSED = 'profile strict: its allowed commands and write roots do not apply to scripts';

  test('sets the limits of a run that requests none', () => {
    expect(effectiveLimits({ profile: strict }, [NONE, STRICT])).toMatchObject({
      timeoutMs: 30_000,
      outputFilesMax: 200,
      outputBytesMax: 10_485_760,
      network: 'blocked',
      warnings: [UNUSED],
    });
  });

  test('lets a run request less', () => {
    const asked = { timeoutMs: 1_000, outputFilesMax: 1, outputBytesMax: 2_048 };
    expect(effectiveLimits({ profile: usual, ...asked }, [NONE, STRICT])).toMatchObject({
      ...asked,
      warnings: ['profile default: its allowed commands and write roots do not apply to scripts'],
    });
  });

  test('reduces requested limits and warns about each', () => {
    const asked = { timeoutMs: 600_000, outputFilesMax: 10_000, outputBytesMax: 1024 ** 3 };
    const effective = effectiveLimits({ profile: dev, ...asked }, [NONE, STRICT]);
    expect(effective).toMatchObject({ timeoutMs: 300_000, outputFilesMax: 1_000, outputBytesMax: 104_857_600 });
    expect(effective.warnings).toEqual([
      'output bytes: requested 1073741824, but profile dev allows 104857600',
      'output files: requested 10000, but profile dev allows 1000',
      'timeout: requested 600000, but profile dev allows 300000',
    ]);
  });

  test('warns that its commands and write roots do not apply to scripts, if it has any', () => {
    const warningsOf = (profile: typeof dev): readonly string[] =>
      effectiveLimits({ profile }, [NONE, STRICT]).warnings;
    const bare = { ...strict, name: 'own', allowed_commands: [], allowed_write_roots: [] };
    const said = ['profile own: its allowed commands and write roots do not apply to scripts'];
    expect(warningsOf(bare)).toEqual([]);
    expect(warningsOf({ ...bare, allowed_commands: ['ls'] })).toEqual(said);
    expect(warningsOf({ ...bare, allowed_write_roots: ['out'] })).toEqual(said);
  });

  test('opens the network only if it allows network access', () => {
    expect(effectiveLimits({ profile: dev }, [NONE, STRICT]).network).toBe('blocked');
    const lab = { ...dev, name: 'lab', allow_network: true };
    expect(effectiveLimits({ profile: lab }, [NONE, STRICT]).network).toBe('open');
  });

  test('never leads to a looser limit when combined with a request', () => {
    const within = (minimum: number, maximum: number) => fc.integer({ min: minimum, max: maximum });
    fc.assert(
      fc.property(
        fc.record({ timeout_ms: within(1_000, 600_000), max_output_files: within(1, 10_000) }),
        fc.record({ timeoutMs: within(1_000, 600_000), outputFilesMax: within(1, 10_000) }, { requiredKeys: [] }),
        (limits, asked) => {
          const effective = effectiveLimits({ ...asked, profile: { ...dev, name: 'own', ...limits } }, [NONE, STRICT]);
          expect(effective.timeoutMs).toBe(Math.min(asked.timeoutMs ?? limits.timeout_ms, limits.timeout_ms));
          expect(effective.outputFilesMax).toBeLessThanOrEqual(limits.max_output_files);
          expect(effective.warnings.some(warning => warning.startsWith('timeout'))).toBe(
            (asked.timeoutMs ?? 0) > limits.timeout_ms,
          );
        },
      ),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/base/fault.ts';
import { builtInProfiles } from '../../src/contracts/profile/built-in.ts';
import { DEFAULTS, effectiveBounds, type Offer, type Requested } from '../../src/policy/bounds.ts';
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
    effectiveBounds(requested, process ? [NONE, process] : [NONE]);
  } catch (fault) {
    if (fault instanceof Fault) return `${fault.code}: ${fault.message}`;
    throw fault;
  }
  return 'accepted';
}

describe('a run that asks for nothing', () => {
  test('gets the sandbox, the network blocked, and every default', () => {
    expect(effectiveBounds({}, [NONE, STRICT])).toEqual({
      sandbox: 'process',
      isolation: 'strict',
      network: 'blocked',
      machine: STRICT.machine,
      ...DEFAULTS,
      warnings: [],
    });
  });

  test('on a machine that is not strict runs there, and is told why it is not', () => {
    const { isolation, warnings } = effectiveBounds({}, [NONE, STANDARD]);
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
    '%j claims nothing that nobody enforces',
    requested => {
      const effective = effectiveBounds(requested, [NONE, STRICT]);
      expect(effective).toMatchObject({ sandbox: 'none', isolation: 'none', network: 'open', timeoutMs: 60_000 });
      for (const key of ['memoryBytes', 'pids', 'cpuSeconds']) expect(effective).not.toHaveProperty(key);
    },
  );

  test('needs none to be usable', () => {
    expect(effectiveBounds({ sandbox: 'none' }, [NONE, UNUSABLE]).sandbox).toBe('none');
  });

  test('keeps the clocks, which need none', () => {
    expect(effectiveBounds({ sandbox: 'none', timeoutMs: 5_000, idleMs: 500 }, [NONE])).toMatchObject({
      timeoutMs: 5_000,
      idleMs: 500,
    });
  });

  test('may have a profile that asks for no block of the network', () => {
    const open = { ...dev, name: 'lab', allow_network: true };
    expect(effectiveBounds({ sandbox: 'none', profile: open }, [NONE]).network).toBe('open');
  });
});

describe('what cannot be enforced', () => {
  const BARE = 'not_enforceable: Without a sandbox, nobody can enforce';
  const rows: [string, Requested, Offer | null, string][] = [
    ['isolation "strict" bare', { sandbox: 'none', isolation: 'strict' }, STRICT, `${BARE} isolation "strict".`],
    ['isolation "standard" bare', { sandbox: 'none', isolation: 'standard' }, STRICT, `${BARE} isolation "standard".`],
    ['the profile strict bare', { sandbox: 'none', profile: strict }, STRICT, `${BARE} isolation "strict".`],
    [
      'a profile that blocks the network bare',
      { sandbox: 'none', profile: usual },
      STRICT,
      `${BARE} a blocked network, which the profile default asks for.`,
    ],
    ['memory bare', { sandbox: 'none', memoryBytes: 1024 ** 3 }, STRICT, `${BARE} a limit on memory.`],
    ['processes bare', { sandbox: 'none', pids: 10 }, STRICT, `${BARE} a limit on processes.`],
    ['processor time bare', { isolation: 'none', cpuSeconds: 10 }, STRICT, `${BARE} a limit on processor time.`],
    ['a share of the processors bare', { sandbox: 'none', cpus: 1 }, STRICT, `${BARE} a share of the processors.`],
    [
      'a share of the processors without control groups',
      { cpus: 0.5 },
      STANDARD,
      'not_enforceable: A share of the processors cannot be enforced here: --cpus needs control groups with a cpu controller. Leave it out, or see proctor doctor.',
    ],
    [
      'strict isolation where something is lacking',
      { isolation: 'strict' },
      STANDARD,
      'not_enforceable: Strict isolation cannot be enforced here: there are no limits on memory and no filters. Without --isolation strict and --profile strict the run is standard; proctor doctor says what to do for more.',
    ],
    [
      'the profile strict where something is lacking',
      { profile: strict },
      STANDARD,
      'not_enforceable: Strict isolation cannot be enforced here: there are no limits on memory and no filters. Without --isolation strict and --profile strict the run is standard; proctor doctor says what to do for more.',
    ],
    [
      'a sandbox and no isolation',
      { sandbox: 'process', isolation: 'none' },
      STRICT,
      'usage: Isolation "none" means no sandbox: leave out --sandbox process, or --isolation none.',
    ],
    ['a sandbox that is not offered', { sandbox: 'process' }, null, 'no_sandbox: There is no sandbox "process".'],
    [
      'a sandbox that is not installed',
      {},
      UNUSABLE,
      'sandbox_unavailable: The sandbox needs programs that are not installed: bwrap. --sandbox none runs without one, and then nothing is isolated.',
    ],
    [
      'a sandbox that is not installed and was asked for',
      { sandbox: 'process' },
      UNUSABLE,
      'sandbox_unavailable: The sandbox needs programs that are not installed: bwrap.',
    ],
    [
      'isolation from a sandbox that is not installed',
      { isolation: 'standard' },
      UNUSABLE,
      'sandbox_unavailable: The sandbox needs programs that are not installed: bwrap.',
    ],
  ];
  test.each(rows)('is refused in a sentence that names it: %s', (_, requested, offer, sentence) => {
    expect(refusal(requested, offer)).toBe(sentence);
  });

  test('does not refuse what is enough: standard isolation where strict is offered', () => {
    expect(effectiveBounds({ isolation: 'standard' }, [NONE, STRICT]).isolation).toBe('strict');
    expect(refusal({ profile: strict })).toBe('accepted');
    expect(refusal({ profile: usual }, STANDARD)).toBe('accepted');
  });
});

describe('a share of the processors', () => {
  test('is given where control groups divide them', () => {
    expect(effectiveBounds({ cpus: 0.5 }, [NONE, STRICT]).cpus).toBe(0.5);
  });

  test.each([0, 0.009, -1, 1_025, Number.NaN])('of %s is out of bounds', cpus => {
    expect(refusal({ cpus })).toBe('out_of_bounds: The share of processors must be from 0.01 to 1024.');
  });
});

describe('a limit', () => {
  const rows: [keyof Requested, number, number, string][] = [
    ['timeoutMs', 1_000, 600_000, 'The timeout must be from 1 second to 10 minutes.'],
    ['idleMs', 100, 600_000, 'The idle timeout must be from 100 milliseconds to 10 minutes.'],
    ['memoryBytes', 16 * 1024 ** 2, 1024 ** 4, 'The memory must be from 16m to 1024g.'],
    ['cpuSeconds', 1, 86_400, 'The processor time must be from 1 second to a day.'],
    ['pids', 1, 100_000, 'The number of processes must be from 1 to 100,000.'],
    ['outputFilesMax', 1, 10_000, 'The number of output files must be from 1 to 10,000.'],
    ['outputBytesMax', 1_024, 1024 ** 3, 'The output must be bounded between 1k and 1g.'],
  ];
  test.each(rows)('%s is taken from %d to %d, whole, and else refused', (key, minimum, maximum, sentence) => {
    for (const value of [minimum, maximum]) {
      expect(effectiveBounds({ [key]: value }, [NONE, STRICT])).toHaveProperty(key, value);
    }
    const outside = [minimum - 1, maximum + 1, minimum + 0.5, 0, -1, Number.NaN, Number.POSITIVE_INFINITY];
    for (const value of outside) expect(refusal({ [key]: value }), String(value)).toBe(`out_of_bounds: ${sentence}`);
  });

  test('that is out of bounds is refused before anything is said of the machine', () => {
    expect(refusal({ timeoutMs: 1 }, UNUSABLE)).toContain('out_of_bounds');
  });
});

describe('a profile', () => {
  const UNBOUND = 'profile strict: its allowed commands and write roots do not bind scripts';

  test('gives its own limits to a run that asks for none', () => {
    expect(effectiveBounds({ profile: strict }, [NONE, STRICT])).toMatchObject({
      timeoutMs: 30_000,
      outputFilesMax: 200,
      outputBytesMax: 10_485_760,
      network: 'blocked',
      warnings: [UNBOUND],
    });
  });

  test('lets a run ask for less', () => {
    const asked = { timeoutMs: 1_000, outputFilesMax: 1, outputBytesMax: 2_048 };
    expect(effectiveBounds({ profile: usual, ...asked }, [NONE, STRICT])).toMatchObject({
      ...asked,
      warnings: ['profile default: its allowed commands and write roots do not bind scripts'],
    });
  });

  test('gives less than was asked for, and says so of each', () => {
    const asked = { timeoutMs: 600_000, outputFilesMax: 10_000, outputBytesMax: 1024 ** 3 };
    const effective = effectiveBounds({ profile: dev, ...asked }, [NONE, STRICT]);
    expect(effective).toMatchObject({ timeoutMs: 300_000, outputFilesMax: 1_000, outputBytesMax: 104_857_600 });
    expect(effective.warnings).toEqual([
      'output bytes: 1073741824 asked for, the profile dev allows 104857600',
      'output files: 10000 asked for, the profile dev allows 1000',
      'timeout: 600000 asked for, the profile dev allows 300000',
    ]);
  });

  test('says of its commands and write roots that they do not bind, and says nothing where it has none', () => {
    const warningsOf = (profile: typeof dev): readonly string[] =>
      effectiveBounds({ profile }, [NONE, STRICT]).warnings;
    const bare = { ...strict, name: 'own', allowed_commands: [], allowed_write_roots: [] };
    const said = ['profile own: its allowed commands and write roots do not bind scripts'];
    expect(warningsOf(bare)).toEqual([]);
    expect(warningsOf({ ...bare, allowed_commands: ['ls'] })).toEqual(said);
    expect(warningsOf({ ...bare, allowed_write_roots: ['out'] })).toEqual(said);
  });

  test('opens the network only where it says so', () => {
    expect(effectiveBounds({ profile: dev }, [NONE, STRICT]).network).toBe('blocked');
    const lab = { ...dev, name: 'lab', allow_network: true };
    expect(effectiveBounds({ profile: lab }, [NONE, STRICT]).network).toBe('open');
  });

  test('and a request together are never looser than either', () => {
    const within = (minimum: number, maximum: number) => fc.integer({ min: minimum, max: maximum });
    fc.assert(
      fc.property(
        fc.record({ timeout_ms: within(1_000, 600_000), max_output_files: within(1, 10_000) }),
        fc.record({ timeoutMs: within(1_000, 600_000), outputFilesMax: within(1, 10_000) }, { requiredKeys: [] }),
        (limits, asked) => {
          const effective = effectiveBounds({ ...asked, profile: { ...dev, name: 'own', ...limits } }, [NONE, STRICT]);
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

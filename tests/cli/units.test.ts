import { Command, type Option } from 'commander';
import { describe, expect, test } from 'vitest';
import { durationMs, sizeBytes, TIME } from '../../src/base/units.ts';
import { addPackCommands } from '../../src/cli/commands/pack-commands.ts';
import { addRunCommands } from '../../src/cli/commands/run-commands.ts';
import { addKeysCommands, addVerifyCommands } from '../../src/cli/commands/verify-commands.ts';
import { scriptLimitsFrom } from '../../src/cli/options/script-limit-flags.ts';

const ended = (): void => undefined;
const program = new Command();
for (const add of [addRunCommands, addPackCommands, addVerifyCommands, addKeysCommands]) add(program, ended);

const flags: [name: string, option: Option][] = optionsBelow(program, []);
const times = flags.filter(([, { flags }]) => flags.endsWith('<time>'));
const sizes = flags.filter(([, { flags }]) => flags.endsWith('<size>'));
const isTimeout = (option: Option): boolean => /^--(?:idle-)?timeout /.test(option.flags);

function optionsBelow(command: Command, words: readonly string[]): [string, Option][] {
  return [
    ...command.options.map((option): [string, Option] => [[...words, option.long].join(' '), option]),
    ...command.commands.flatMap(below => optionsBelow(below, [...words, below.name()])),
  ];
}

/** The parsed value of a flag, or its error message. */
function parsed({ parseArg }: Option, word: string): unknown {
  try {
    return parseArg?.(word, undefined);
  } catch (error) {
    return (error as Error).message;
  }
}

test('every command with a time or a size is tested', () => {
  expect(times.map(([name]) => name)).toEqual(
    expect.arrayContaining([
      'run script --timeout',
      'run script --idle-timeout',
      'run agent --timeout',
      'run suite --timeout',
      'compare --again-time',
      'resend --timeout',
      'try --timeout',
      'prune --older-than',
    ]),
  );
  expect(sizes.map(([name]) => name)).toEqual(
    expect.arrayContaining([
      'run script --memory',
      'run script --max-bytes',
      'run suite --memory',
      'run suite --max-body',
      'verify --max-bytes',
      'runner-verify --max-bytes',
    ]),
  );
});

describe.each(times)('%s', (_, option) => {
  test.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['10m', 600_000],
    ['2h', 7_200_000],
    ['3d', 259_200_000],
    ['30S', 30_000],
    ['5MS', 5],
  ])('accepts %s', (word, ms) => {
    expect(parsed(option, word)).toBe(ms);
  });

  test.each(['', ' ', 's', '1.5s', '-1s', '1 s', '1w', '1sec', '1s ', '1e3s', '1234567890s', '٣s', '1234567890'])(
    'rejects "%s" with an example',
    word => {
      expect(parsed(option, word)).toBe('Use a time such as 500ms, 30s, 10m, 2h or 3d.');
    },
  );

  test(`${isTimeout(option) ? 'takes a bare number as seconds' : 'rejects a bare number and shows the units'}`, () => {
    expect(parsed(option, '20')).toBe(isTimeout(option) ? 20_000 : 'A time needs a unit. Write 20s, 20m, 20h or 20d.');
  });
});

describe.each(sizes)('%s', (_, option) => {
  test.each([
    ['65536', 65_536],
    ['65536b', 65_536],
    ['512k', 524_288],
    ['64KiB', 65_536],
    ['64kb', 64_000],
    ['64m', 67_108_864],
    ['64mib', 67_108_864],
    ['10MB', 10_000_000],
  ])('accepts %s', (word, bytes) => {
    expect(parsed(option, word)).toBe(bytes);
  });

  test.each(['', ' ', 'k', '1.5m', '-1', '1 k', '1t', '1kk', '1ib', '64mi', '0x10', '1234567890123'])(
    'rejects "%s" with an example',
    word => {
      expect(parsed(option, word)).toBe('Use a size such as 65536, 512k, 64MiB, 10MB or 1g.');
    },
  );
});

test('1g is a gibibyte and 1GB a gigabyte', () => {
  expect([sizeBytes('1g'), sizeBytes('1GiB'), sizeBytes('1GB')]).toEqual([1024 ** 3, 1024 ** 3, 1_000_000_000]);
});

test.each(['0', '257m', '1g'])('verify --max-bytes rejects %s, which is out of range', word => {
  const option = sizes.find(([name]) => name === 'verify --max-bytes')?.[1] as Option;
  expect(parsed(option, word)).toBe('Use a size from 1 byte to 256m, such as 65536, 512k or 64m.');
});

test('the pattern for times in files accepts exactly the times that flags accept', () => {
  for (const word of ['500ms', '30s', '10M', '2h', '3D', '20', '1w', '', '1.5s', '1234567890s', '1s\n']) {
    const isAccepted = ((): boolean => {
      try {
        return durationMs(word) >= 0;
      } catch {
        return false;
      }
    })();
    expect(TIME.test(word), word).toBe(isAccepted);
  }
});

test('the flags of run script become its limits', async () => {
  const script = program.commands.find(one => one.name() === 'run')?.commands.find(one => one.name() === 'script');
  const words = ['--timeout', '5s', '--idle-timeout', '100ms', '--memory', '32m', '--cpu-seconds', '7'];
  const more = ['--cpus', '0.5', '--pids', '9', '--max-files', '3', '--max-bytes', '2k'];
  script?.parseOptions([...words, ...more]);
  expect(scriptLimitsFrom(script?.opts() ?? {})).toEqual({
    timeoutMs: 5_000,
    idleMs: 100,
    memoryBytes: 33_554_432,
    cpuSeconds: 7,
    cpus: 0.5,
    pids: 9,
    outputFilesMax: 3,
    outputBytesMax: 2_048,
  });
  expect(scriptLimitsFrom({ json: true, timeout: undefined })).toEqual({});
});

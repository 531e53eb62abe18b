import { describe, expect, test } from 'vitest';
import type { Ending } from '../../../src/contracts/ending.ts';
import { runner } from '../../../src/contracts/runner/index.ts';
import { exitOf, isExitOf, isTime, stepTermination } from '../../../src/evidence/step/endings.ts';
import { endingText } from '../../../src/evidence/step/endings.ts';
import { adviceOf, exampleWith, judged, rulesOf } from '../../support/support.ts';

type Exit = ReturnType<typeof exitOf>;
const exit = (code: number, signal?: string, flags: Partial<Exit> = {}): Exit => ({
  code,
  ...(signal !== undefined && { signal }),
  oom_killed: false,
  timeout_killed: false,
  ...flags,
});
const late = { timeout_killed: true };

/** Every ending, with its exit record, the termination of an unsuccessful step, and its text. */
const TABLE: [Ending, Exit, string, string][] = [
  [{ how: 'exited', code: 0 }, exit(0), 'error', 'exit code 0'],
  [{ how: 'exited', code: 1 }, exit(1), 'error', 'exit code 1'],
  [{ how: 'exited', code: 137 }, exit(137), 'error', 'exit code 137'],
  [{ how: 'exited', code: 255 }, exit(255), 'error', 'exit code 255'],
  [{ how: 'signalled', signal: 'SIGSEGV' }, exit(139, 'SIGSEGV'), 'error', 'ended by SIGSEGV'],
  [{ how: 'signalled', signal: 'SIGKILL' }, exit(137, 'SIGKILL'), 'error', 'ended by SIGKILL'],
  [{ how: 'signalled', signal: 'SIGSYS' }, exit(159, 'SIGSYS'), 'error', 'ended by SIGSYS'],
  [
    { how: 'killed', by: 'timeout', signal: 'SIGTERM' },
    exit(143, 'SIGTERM', late),
    'killed_timeout',
    'stopped by Proctor with SIGTERM: the time limit was reached',
  ],
  [
    { how: 'killed', by: 'timeout', signal: 'SIGKILL' },
    exit(137, 'SIGKILL', late),
    'killed_timeout',
    'stopped by Proctor with SIGKILL: the time limit was reached',
  ],
  [
    { how: 'killed', by: 'cpu', signal: 'SIGKILL' },
    exit(137, 'SIGKILL', late),
    'killed_timeout',
    'stopped by Proctor with SIGKILL: the CPU time limit was reached',
  ],
  [
    { how: 'killed', by: 'idle', signal: 'SIGTERM' },
    exit(143, 'SIGTERM', late),
    'killed_idle',
    'stopped by Proctor with SIGTERM: the idle limit was reached',
  ],
  [
    { how: 'killed', by: 'policy', signal: 'SIGKILL' },
    exit(137, 'SIGKILL'),
    'killed_policy',
    'stopped by Proctor with SIGKILL: the policy was violated',
  ],
  [
    { how: 'killed', by: 'cancel', signal: 'SIGTERM' },
    exit(143, 'SIGTERM'),
    'error',
    'stopped by Proctor with SIGTERM: the run was cancelled',
  ],
  [
    { how: 'out_of_memory', code: 137 },
    exit(137, 'SIGKILL', { oom_killed: true }),
    'error',
    'out of memory, exit code 137',
  ],
  [{ how: 'out_of_memory', code: 1 }, exit(1, undefined, { oom_killed: true }), 'error', 'out of memory, exit code 1'],
  [
    { how: 'out_of_memory', code: 0 },
    exit(137, 'SIGKILL', { oom_killed: true }),
    'error',
    'out of memory, exit code 0',
  ],
  [{ how: 'not_started', code: 126 }, exit(126), 'error', 'could not start, exit code 126'],
  [{ how: 'not_started', code: 127 }, exit(127), 'error', 'could not start, exit code 127'],
  [{ how: 'lost' }, exit(137, 'SIGKILL'), 'error', 'unknown: Proctor was interrupted'],
];

describe('an ending', () => {
  test.each(TABLE)('%j gives a valid exit record', async (ending, record) => {
    expect(exitOf(ending)).toEqual(record);
    const verdict = await judged(runner, exampleWith(runner, { exit: exitOf(ending) }));
    expect(rulesOf(verdict)).toEqual([]);
    expect(adviceOf(verdict).filter(id => id === 'RN10')).toEqual([]);
  });

  test.each(TABLE)('%j has a description and a termination', (ending, _, termination, words) => {
    expect(endingText(ending)).toBe(words);
    expect(stepTermination(ending, false)).toBe(termination);
  });

  test.each(TABLE)('%j completes a step only if nothing stopped the program', (ending, _, termination) => {
    expect(stepTermination(ending, true)).toBe(termination === 'error' ? 'completed' : termination);
  });

  test.each(TABLE)('%j counts as a timeout only if a time limit ended it', (ending, record) => {
    expect(isTime(ending)).toBe(record.timeout_killed);
  });
});

test('accepts an older record that states code 0 for a child that ran out of memory', () => {
  const ending: Ending = { how: 'out_of_memory', code: 0 };
  expect(isExitOf(ending, exitOf(ending))).toBe(true);
  expect(isExitOf(ending, exit(0, undefined, { oom_killed: true }))).toBe(true);
  expect(isExitOf(ending, exit(0))).toBe(false);
  expect(isExitOf({ how: 'exited', code: 0 }, exit(0, undefined, { oom_killed: true }))).toBe(false);
});

test('every signal, even an unknown one, gives a valid exit code', async () => {
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGABRT', 'SIGBUS', 'SIGPIPE', 'SIGXCPU', 'SIGXFSZ', 'SIGNOSUCH']) {
    const record = exitOf({ how: 'signalled', signal });
    expect(record.code).toBeGreaterThanOrEqual(128);
    expect(rulesOf(await judged(runner, exampleWith(runner, { exit: record })))).toEqual([]);
  }
});

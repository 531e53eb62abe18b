import { describe, expect, test } from 'vitest';
import { contradictionsIn } from '../../../src/run/intent/constraints.ts';

describe('constraints', () => {
  test.each([
    ['within 20 seconds', 'timeout_ms', 20_000],
    ['no more than 2 s', 'timeout_ms', 2_000],
    ['at most 1500 ms', 'timeout_ms', 1_500],
    ['under 2 minutes', 'timeout_ms', 120_000],
    ['a maximum of 3 mins', 'timeout_ms', 180_000],
    ['at most 3 files', 'max_output_files', 3],
    ['up to 1 output file', 'max_output_files', 1],
    ['less than 2048 bytes', 'max_total_output_bytes', 2_048],
    ['not more than 3 MB', 'max_total_output_bytes', 3_000_000],
    ['at most 4 KiB', 'max_total_output_bytes', 4_096],
  ])('such as "%s" limit %s', (text, name, value) => {
    const asking = (limit: number) => contradictionsIn({ goal: 'g', constraints: [text], limits: { [name]: limit } });
    expect(asking(value)).toEqual([]);
    expect(asking(value + 1)).toEqual([
      {
        index: 0,
        against: `limits.${name}`,
        because: `the constraint says at most ${value}, the limit ${value + 1}`,
        limit: { name, value },
      },
    ]);
  });

  test('contradict if they require and forbid the same thing, in any order', () => {
    const constraints = ['must not use npm', 'must be small', 'Must use NPM. ', 'must not be small', 'must use npm'];
    expect(contradictionsIn({ goal: 'g', constraints }).map(({ index, against }) => [index, against])).toEqual([
      [2, 'constraints[0]'],
      [3, 'constraints[1]'],
      [4, 'constraints[0]'],
    ]);
  });

  test('can contradict the number of outputs, and the network', () => {
    const intent = {
      goal: 'g',
      constraints: ['at most 1 file', 'offline'],
      outputs: ['out/a', 'out/b'],
      network: true,
    };
    expect(contradictionsIn(intent).map(({ against }) => against)).toEqual(['outputs', 'network']);
  });

  // Backtracking from every start would take hours.
  test.each(['.', 'a', ' ', 'not '])('are searched in linear time, even if full of %j', filling => {
    const constraints = [`must not ${filling.repeat(4_000_000 / filling.length)}1`];
    expect(contradictionsIn({ goal: 'g', constraints })).toEqual([]);
  });
});

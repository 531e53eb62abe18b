import { expect, test } from 'vitest';
import { median } from '../../bench/median.ts';

test.each([
  [[7], 7],
  [[3, 1, 2], 2],
  [[10, 1, 2, 4], 3],
  [[4, 1], 2.5],
  [[], Number.NaN],
])('the median of %j is %d', (values, expected) => {
  expect(median(values)).toBe(expected);
});

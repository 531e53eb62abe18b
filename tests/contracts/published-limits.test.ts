import { expect, test } from 'vitest';
import { limitsOutside, writtenBytes } from '../../src/contracts/published-script/limits.ts';

test('a size that exceeds every number is out of range, and not an error', () => {
  expect(writtenBytes('999999999999g')).toBe(Number.POSITIVE_INFINITY);
  expect([...limitsOutside({ memory: '999999999999g' })].map(({ key }) => key)).toEqual(['memory']);
});

test('a key that every object has is no limit', () => {
  expect([...limitsOutside({ constructor: '1g' } as object)]).toEqual([]);
});

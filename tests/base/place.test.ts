import { expect, test } from 'vitest';
import { placeOf } from '../../src/base/place.ts';

test('a path is written as a.b[0], and unusual keys are quoted, escaped and truncated', () => {
  expect(['a', 'b', 0].reduce<string>(placeOf, '')).toBe('a.b[0]');
  expect(placeOf('', 'ключ')).toBe('ключ');
  expect(placeOf('a', '')).toBe('a[""]');
  expect(placeOf('', '')).toBe('[""]');
  expect(placeOf('a', 'b.c')).toBe('a["b.c"]');
  expect(placeOf('a', '0')).toBe('a["0"]');
  expect(placeOf('a', 'x"y')).toBe('a["x\\"y"]');
  expect(placeOf('', '\u001b[31m')).toBe('["\\u{1b}[31m"]');
  expect(placeOf('', 'x'.repeat(500))).toBe(`["${'x'.repeat(60)}"]`);
});

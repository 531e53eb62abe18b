import { expect, test } from 'vitest';
import { pathPattern } from '../../src/base/path-pattern.ts';

test.each([
  ['Makefile', 'Makefile', true],
  ['Makefile', 'sub/Makefile', false],
  ['config', 'config/a/b.json', true],
  ['config', 'configs/a', false],
  ['config/*.json', 'config/a.json', true],
  ['config/*.json', 'config/a/b.json', false],
  ['**/package.json', 'package.json', true],
  ['**/package.json', 'a/b/package.json', true],
  ['a/**/z', 'a/z', true],
  ['a/**/z', 'a/b/c/z', true],
  ['a/**/z', 'b/z', false],
  ['./a?c', 'abc', true],
  ['a?c', 'ac', false],
  ['*', 'a/b', true],
  ['a.c', 'abc', false],
])('%s matches %s: %s', (pattern, path, isMatch) => {
  expect(pathPattern([pattern])(path)).toBe(isMatch);
});

test('an empty list of patterns matches nothing', () => {
  expect(pathPattern([])('a')).toBe(false);
});

test('finishes on paths and patterns that make a backtracking matcher take exponential time', () => {
  expect(pathPattern(['*a'.repeat(50) + 'b'])('a'.repeat(4_000))).toBe(false);
  expect(pathPattern(['**/a/'.repeat(50) + 'b'])('a/'.repeat(2_000) + 'c')).toBe(false);
});

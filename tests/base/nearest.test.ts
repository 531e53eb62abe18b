import { expect, test } from 'vitest';
import { didYouMean } from '../../src/base/nearest.ts';

const WORDS = ['latest', 'baseline', 'new', 'refund-small'];

test.each([
  ['latst', 'latest'],
  ['latset', 'latest'],
  ['LATEST', 'latest'],
  ['bsaelin', 'baseline'],
  ['refund_small', 'refund-small'],
  ['nwe', 'new'],
  ['of', undefined],
  ['something', undefined],
  ['', undefined],
  ['x'.repeat(100_000), undefined],
])('for %s, suggests %s', (word, meant) => {
  expect(didYouMean(word, WORDS)).toBe(meant === undefined ? '' : ` Did you mean "${meant}"?`);
});

test('escapes unsafe characters in known words', () => {
  expect(didYouMean('abcdef', ['abcde\u001b'])).toBe(' Did you mean "abcde\\u{1b}"?');
});

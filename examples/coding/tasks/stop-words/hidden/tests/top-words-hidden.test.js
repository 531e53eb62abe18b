import assert from 'node:assert/strict';
import { test } from 'node:test';
import { topWords } from '../src/top-words.js';

test('still takes a number as the limit', () => {
  assert.deepEqual(topWords('b a a', 1), ['a']);
});

test('returns ten words without options', () => {
  assert.equal(topWords('a b c d e f g h i j k l').length, 10);
});

test('returns ten words if the options have no limit', () => {
  assert.deepEqual(topWords('a b c d e f g h i j k l', { stopWords: ['a', 'b'] }), 'cdefghijkl'.split(''));
});

test('leaves out stop words before it counts the limit', () => {
  assert.deepEqual(topWords('x x x y y z', { limit: 2, stopWords: ['x'] }), ['y', 'z']);
});

test('ignores the case of stop words', () => {
  assert.deepEqual(topWords('Über the tea', { stopWords: ['THE', 'über'] }), ['tea']);
});

test('leaves the list of stop words as it is', () => {
  const stopWords = Object.freeze(['The']);
  topWords('the tea', { stopWords });
  assert.deepEqual(stopWords, ['The']);
});

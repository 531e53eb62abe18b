import assert from 'node:assert/strict';
import { test } from 'node:test';
import { topWords } from '../src/top-words.js';

test('ranks words by how often they occur', () => {
  assert.deepEqual(topWords('The tea, the cup and the tea', 2), ['the', 'tea']);
});

test('leaves out stop words', () => {
  assert.deepEqual(topWords('the tea the cup the tea', { limit: 2, stopWords: ['the'] }), ['tea', 'cup']);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from '../src/parse.js';

test('parses one setting per line', () => {
  assert.deepEqual(parse('host = example.org\nport=80'), { host: 'example.org', port: '80' });
});

test('ignores comments', () => {
  assert.deepEqual(parse('# where to listen\nport = 80'), { port: '80' });
});

test('accepts empty input', () => {
  assert.deepEqual(parse(''), {});
});

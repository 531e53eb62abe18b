import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from '../src/parse.js';

test('accepts input of white space only', () => {
  assert.deepEqual(parse(' \n\t\n'), {});
});

test('ignores blank lines between settings', () => {
  assert.deepEqual(parse('host = a\n\n  \nport = 80\n'), { host: 'a', port: '80' });
});

test('keeps everything after the first equals sign', () => {
  assert.deepEqual(parse('query = a=1&b=2'), { query: 'a=1&b=2' });
});

test('reports a line without an equals sign, with its number', () => {
  assert.throws(() => parse('host = a\n\nport'), /line 3/);
});

test('still ignores comments', () => {
  assert.deepEqual(parse('# a = b\nport = 80'), { port: '80' });
});

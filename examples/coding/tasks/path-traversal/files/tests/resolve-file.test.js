import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveFile } from '../src/resolve-file.js';

test('finds a file below the root', () => {
  assert.equal(resolveFile('/srv/www', '/css/site.css?v=2'), '/srv/www/css/site.css');
});

test('refuses a path that leaves the root', () => {
  assert.equal(resolveFile('/srv/www', '/../../etc/passwd'), null);
});

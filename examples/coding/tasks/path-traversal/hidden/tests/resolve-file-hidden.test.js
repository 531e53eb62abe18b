import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveFile } from '../src/resolve-file.js';

const ROOT = '/srv/www';

test('refuses an encoded path that leaves the root', () => {
  assert.equal(resolveFile(ROOT, '/%2e%2e/%2e%2e/etc/passwd'), null);
  assert.equal(resolveFile(ROOT, '/..%2f..%2fetc%2fpasswd'), null);
});

test('refuses a folder next to the root whose name starts the same', () => {
  assert.equal(resolveFile(ROOT, '/../www-private/keys.txt'), null);
});

test('refuses a zero byte', () => {
  assert.equal(resolveFile(ROOT, '/site.css%00.png'), null);
});

test('refuses a URL that cannot be decoded', () => {
  assert.equal(resolveFile(ROOT, '/%zz'), null);
});

test('accepts names that contain dots', () => {
  assert.equal(resolveFile(ROOT, '/a..b/...txt'), '/srv/www/a..b/...txt');
});

test('accepts a path that stays below the root', () => {
  assert.equal(resolveFile(ROOT, '/css/../img/a.png'), '/srv/www/img/a.png');
});

test('accepts the root itself, with and without a slash at its end', () => {
  assert.equal(resolveFile(ROOT, '/'), ROOT);
  assert.equal(resolveFile(`${ROOT}/`, '/a.txt'), '/srv/www/a.txt');
});

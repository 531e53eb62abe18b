import { describe, expect, test } from 'vitest';
import { holdsAbsolutePath, hostPathIn, unsafePath } from '../../src/base/path.ts';

describe('a path below a folder', () => {
  test.each(['out', 'a/b.txt', '.', './a', 'foo..bar', '...', 'a/..b', 'ünïcode', 'a b', '-rf', '.env'])(
    'can be %j',
    path => {
      expect(unsafePath(path)).toBeUndefined();
    },
  );

  const unsafe: [string, string][] = [
    ['', 'is empty'],
    ['/etc', 'is absolute'],
    ['//x', 'is absolute'],
    ['\\x', 'is absolute or a network share'],
    ['\\\\server\\share', 'is absolute or a network share'],
    ['C:\\x', 'starts with a drive'],
    ['c:x', 'starts with a drive'],
    ['~', 'starts with a home folder'],
    ['~root/x', 'starts with a home folder'],
    ['..', 'contains ".."'],
    ['a/../b', 'contains ".."'],
    ['a\\..\\b', 'contains ".."'],
    ['a/..', 'contains ".."'],
    ['a//b', 'contains an empty segment'],
    ['a/', 'contains an empty segment'],
    ['a\u0000b', 'contains a control character'],
    ['a\nb', 'contains a control character'],
    ['a\u007fb', 'contains a control character'],
    ['a\u2028b', 'contains a control character'],
  ];
  test.each(unsafe)('cannot be %j, which %s', (path, reason) => {
    expect(unsafePath(path)).toBe(reason);
  });
});

describe('a host path in a text', () => {
  test.each([
    'failed in /home/alice/x.py',
    '/root/x',
    'see "/tmp/a"',
    'at (/Users/bob/app.js:3:1)',
    'open C:\\Users\\x',
    'file:///etc/passwd',
    '\\\\server\\share',
    'C:/Users/alice/x',
    'path=/var/lib/x',
    '//home/alice/x',
    'user@/home/alice',
    'in /root',
    '/workspace/src/x.ts',
  ])('is found in %j', text => {
    expect(hostPathIn(text)).toBeDefined();
  });

  test.each([
    'GET /api/v1/users failed',
    'GET /run/12 returned 500',
    'POST /media/upload failed',
    'http://home/x',
    'see /homeless',
    '/etcetera',
    'and/or',
    'https://example.org/home/x',
    '3/4',
    'a/tmp/b',
    'either yes/no',
    'ratio 1:2',
  ])('is not found in %j', text => {
    expect(hostPathIn(text)).toBeUndefined();
  });
});

describe('an absolute path with any root', () => {
  test.each([
    '/data/x',
    '//data/x',
    'in /data',
    '--in=/data/x',
    'host:/data',
    '-I/data',
    '"/data"',
    '~/x',
    '~bob/x',
    '/ä',
  ])('is found in %j', text => {
    expect(holdsAbsolutePath(text)).toBe(true);
  });

  test.each([
    'a/b',
    './a',
    '../a',
    '3/4',
    '/',
    '//',
    'a // b',
    '/* x */',
    'https://example.org/a',
    'x~/y',
    'a=b/c',
    '',
  ])('is not found in %j', text => {
    expect(holdsAbsolutePath(text)).toBe(false);
  });
});

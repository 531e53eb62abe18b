import { describe, expect, test } from 'vitest';
import { headerSecrets, storedUrl, urlSecrets, withoutQueryValues } from '../../src/base/secret-parts.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('the secret parts of a header', () => {
  test.each([
    ['a bearer token', 'authorization', 'Bearer abc123xyz', ['abc123xyz']],
    ['a token without a scheme', 'x-api-key', 'abc123xyz', []],
    ['a decoded password', 'authorization', `Basic ${base64('me:hunter22')}`, ['me:hunter22', 'hunter22']],
    ['cookies', 'cookie', 'a=1; sid=abcdef123', ['abcdef123']],
    [
      'parameters of a scheme',
      'authorization',
      'Digest username="me", response="0123456789abcdef"',
      ['0123456789abcdef'],
    ],
  ])('are %s', (_, name, value, parts) => {
    expect(headerSecrets(name, value)).toEqual(expect.arrayContaining([value, ...parts]));
  });

  test('are never short enough to occur in ordinary text', () => {
    expect(headerSecrets('cookie', 'a=1; b=22')).toEqual(['a=1; b=22']);
  });
});

describe('a URL', () => {
  test('has its password and its query values as secrets, raw and decoded', () => {
    expect(urlSecrets('https://me:pass%20word@x/y?token=ab%2Fcd&v=1&long=somevalue')).toEqual([
      'pass%20word',
      'pass word',
      'ab%2Fcd',
      'ab/cd',
      'somevalue',
    ]);
    expect(urlSecrets('https://x/y?v=1')).toEqual([]);
  });

  test.each([
    ['https://x.example/', 'https://x.example'],
    ['https://x.example/a?token=abc&v=1', 'https://x.example/a?token=[masked]&v=[masked]'],
    ['https://x.example/a?abcdef', 'https://x.example/a?[masked]'],
    ['https://me:word@x.example/a#b', 'https://x.example/a'],
  ])('%s is stored as %s', (address, stored) => {
    expect(storedUrl(address)).toBe(stored);
    // The stored form is a URL, and storing it again does not change it.
    expect(storedUrl(stored)).toBe(stored);
  });

  test('in a header loses its query values', () => {
    expect(withoutQueryValues('/next?token=abc&x=1#top')).toBe('/next?token=[masked]&x=[masked]#top');
  });
});

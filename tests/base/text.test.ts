import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clip } from '../../src/base/clip.ts';
import { printable, printableJson } from '../../src/base/printable.ts';
import { holdsSecret, redact, redactCut } from '../../src/base/redact.ts';

describe('clipped text', () => {
  test('that fits is unchanged', () => {
    expect(clip('héllo', 6)).toEqual({ text: 'héllo', truncated: false, bytesTotal: 6 });
  });

  test('is cut before a code point that does not fit, and keeps its full size', () => {
    expect(clip('héllo', 2)).toEqual({ text: 'h', truncated: true, bytesTotal: 6 });
    expect(clip('a😀', 4)).toEqual({ text: 'a', truncated: true, bytesTotal: 5 });
  });

  test('never exceeds the limit or splits a character, and is always a prefix', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (text, bytesMax) => {
        const clipped = clip(text, bytesMax);
        expect(Buffer.byteLength(clipped.text)).toBeLessThanOrEqual(bytesMax);
        expect(text.startsWith(clipped.text)).toBe(true);
        expect(clipped.bytesTotal).toBe(Buffer.byteLength(text));
        expect(clipped.truncated).toBe(clipped.text !== text);
        const next = [...text.slice(clipped.text.length)][0];
        if (next !== undefined) expect(Buffer.byteLength(clipped.text + next)).toBeGreaterThan(bytesMax);
      }),
      { numRuns: 2_000 },
    );
  });
});

test('a terminal gets no control, override or zero-width characters', () => {
  expect(printable('\u001b[31mred\r\n\u202eabc\u200b\u{e0041}ok ü 😀')).toBe(
    '\\u{1b}[31mred\\u{d}\\u{a}\\u{202e}abc\\u{200b}\\u{e0041}ok ü 😀',
  );
  expect(printable('\ud800')).toBe('\\u{d800}');
});

test('JSON keeps its value when it is escaped for a terminal', () => {
  const value = { 'a\u009b31m': ['\u202e', '\u{e0041}', '\u001b', 'ü 😀', '\u2028'] };
  expect(printableJson(value)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e\u2028]/);
  expect(JSON.parse(printableJson(value))).toEqual(value);
});

describe('redaction', () => {
  // Concatenated, so that no scanner reports this file as a leak.
  const credentials = [
    `sk-${'ant-api03-'}${'a1B2'.repeat(8)}`,
    `sk-${'proj-'}${'a1B2'.repeat(8)}`,
    `gh${'p'}_${'a1B2'.repeat(9)}`,
    `github${'_pat_'}${'a1B2'.repeat(9)}`,
    `AK${'IA'}${'ABCD'.repeat(4)}`,
    `xox${'b'}-${'1234567890'}-abc`,
    `eyJ${'hbGciOiJIUzI1NiJ9'}.eyJ${'zdWIiOiIxMjM0NTY3ODkwIn0'}.${'abc123'}`,
    `-----BEGIN ${'RSA PRIVATE'} KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----`,
    `Bearer ${'abcdef0123456789'}`,
  ];
  test.each(credentials)('masks %s', credential => {
    expect(redact(`before ${credential} after`)).toEqual({ text: 'before [masked] after', masked: 1 });
    expect(holdsSecret(credential)).toBe(true);
  });

  test('masks the password of a URL and leaves the rest', () => {
    expect(redact('postgres://user:hunter2@db/x').text).toBe('postgres://user:[masked]@db/x');
  });

  test('masks declared secrets by value, the longest first', () => {
    expect(redact('abcdef abc', ['abc', 'abcdef', ''])).toEqual({ text: '[masked] [masked]', masked: 2 });
    expect(redact('password hunter2 mask', ['hunter2', 'mask'])).toEqual({
      text: 'password [masked] [masked]',
      masked: 2,
    });
    expect(redact('a.b (c) [d] $e', ['a.b', '(c)', '[d]', '$e']).text).toBe('[masked] [masked] [masked] [masked]');
  });

  test('of a truncated text also masks the start of a secret', () => {
    const secret = 'correct-horse-battery-staple';
    expect(redactCut(`a["${secret.slice(0, 20)}"] and ${secret}`, [secret, 'correct-house'])).toEqual({
      text: 'a["[masked]"] and [masked]',
      masked: 2,
    });
    expect(redactCut('correct, correct', [secret]).masked).toBe(0);
  });

  test('leaves ordinary words alone', () => {
    const text = 'The task-list of Basic English: bearer of news, ask-me-anything, sk-8 board.';
    expect(redact(text)).toEqual({ text, masked: 0 });
  });

  // Backtracking from every start would take many minutes.
  test('masks two megabytes of hostile text in linear time', () => {
    for (const unit of [
      'eyJ',
      'sk-',
      '-----BEGIN ',
      '://a:',
      'Bearer ',
      'a',
      'eyJaaaaaaaa.eyJaaaaaaaa.',
      '-eyJ',
      'eyJ-',
    ]) {
      const text = unit.repeat(2 ** 21 / unit.length);
      expect(redact(text).text.length, unit).toBeGreaterThan(0);
    }
  });
});

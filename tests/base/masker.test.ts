import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Masker } from '../../src/base/masker.ts';

function masked(secrets: readonly string[], ...chunks: readonly (string | Uint8Array)[]): string {
  const masker = new Masker(secrets);
  const parts = chunks.map(chunk => masker.take(Buffer.from(chunk as string)));
  return Buffer.concat([...parts, masker.end()]).toString('latin1');
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('a secret in a stream', () => {
  const rows: [string, string[], string[], string][] = [
    ['is masked unencoded', ['hunter2'], ['pw=hunter2;'], 'pw=[masked];'],
    ['is masked wherever it occurs', ['ab'], ['ab-ab'], '[masked]-[masked]'],
    ['is masked at the very end', ['hunter2'], ['pw=hunter2'], 'pw=[masked]'],
    ['is masked at the very beginning', ['hunter2'], ['hunter2!'], '[masked]!'],
    ['is masked across chunks', ['hunter2'], ['pw=hun', 'ter2;'], 'pw=[masked];'],
    ['is masked if each byte arrives separately', ['hunter2'], [...'xhunter2x'], 'x[masked]x'],
    ['that is incomplete at the end is not masked', ['hunter2'], ['pw=hunter'], 'pw=hunter'],
    ['that starts twice is masked once', ['aab'], ['aa', 'ab'], 'a[masked]'],
    ['of one byte is masked', ['x'], ['axb', 'x'], 'a[masked]b[masked]'],
    ['that is empty masks nothing', [''], ['anything'], 'anything'],
    ['next to an empty one is masked', ['', 'hunter2'], ['a hunter2'], 'a [masked]'],
    ['that is listed twice is masked once', ['hunter2', 'hunter2'], ['hunter2'], '[masked]'],
    ['that starts with another is masked whole', ['hunter2', 'hunter2-long'], ['hunter2-long'], '[masked]'],
    ['that starts with another is masked whole across chunks', ['abc', 'abcdef'], ['abc', 'def!'], '[masked]!'],
    ['that is a prefix of another is masked if nothing follows', ['abc', 'abcdef'], ['xabc'], 'x[masked]'],
    [
      'that is a prefix of another is masked if something else follows',
      ['abc', 'abcdef'],
      ['abc', 'dex'],
      '[masked]dex',
    ],
    ['inside another is masked with it across chunks', ['abcd', 'bc'], ['abc', 'd'], '[masked]'],
    ['inside an incomplete match of another is masked', ['abcd', 'bc'], ['abc', 'x'], 'a[masked]x'],
    ['that overlaps the start of another is masked completely', ['abcd', 'cdef'], ['abcdef'], '[masked]ef'],
    ['that does not occur changes nothing', ['hunter2'], ['hunter3', ' hunter'], 'hunter3 hunter'],
    ['in base64 is masked', ['correct-horse'], [`x ${base64('correct-horse')} y`], 'x [masked]== y'],
    ['in percent-encoding is masked', ['p@ss word/1'], [`?q=${encodeURIComponent('p@ss word/1')}&r`], '?q=[masked]&r'],
    ['that is short is not searched for in base64', ['abc'], [base64('abc')], base64('abc')],
  ];
  test.each(rows)('%s', (_, secrets, chunks, expected) => {
    expect(masked(secrets, ...chunks).replace(/\[masked\].==/, '[masked]==')).toBe(expected);
  });

  test('is counted each time it is masked', () => {
    const masker = new Masker(['abc', 'abcdef']);
    for (const chunk of ['abc', 'def', ' abc ', 'ab']) masker.take(Buffer.from(chunk));
    masker.take(Buffer.from('c'));
    masker.end();
    expect(masker.masked).toBe(3);
  });

  test.each(['secrets', 'a longer one', 'pässwörter', 'ünïcödé-ßß', 'eight-by', 'nine-bytes'])(
    'in base64 leaves at most one character: %j',
    secret => {
      for (const after of ['', 'x', 'xy', 'xyz']) {
        const left = masked([`${secret}-long`], base64(`${secret}-long${after}`));
        expect(left).toMatch(/^\[masked\][A-Za-z0-9+/]{0,6}={0,2}$/);
        // The character after it can contain at most six bits of the secret.
        expect(left.replace(/=+$/, '').length).toBeLessThanOrEqual(
          '[masked]'.length + 1 + Math.ceil((after.length * 8) / 6),
        );
      }
    },
  );

  test('can contain a lone surrogate', () => {
    expect(masked(['long enough \ud800'], 'text')).toBe('text');
  });

  test('of one byte that floods a stream is masked in linear time', () => {
    const bytes = 400_000;
    const flood = masked(['a', 'never-there-at-all'], 'a'.repeat(bytes));
    expect(flood).toHaveLength(bytes * '[masked]'.length);
  }, 10_000);
});

/** A small alphabet, so that secrets overlap, are prefixes of each other and occur by chance. */
const word = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength, maxLength });

const chunked = (text: Buffer, cuts: readonly number[]): Buffer[] => {
  const places = [0, ...cuts.map(cut => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
  return places.slice(1).map((end, index) => text.subarray(places[index], end));
};

/** A reference without chunks: it masks the leftmost secret and, of several, the longest. */
function plainly(secrets: readonly string[], text: string): string {
  const longestFirst = secrets.filter(secret => secret !== '').sort((a, b) => b.length - a.length);
  let out = '';
  for (let at = 0; at < text.length; ) {
    const secret = longestFirst.find(candidate => text.startsWith(candidate, at));
    out += secret === undefined ? text[at] : '[masked]';
    at += secret?.length ?? 1;
  }
  return out;
}

describe('for any chunking of a text', () => {
  test('the masker agrees with a simple reference on the whole text', () => {
    fc.assert(
      fc.property(
        fc.array(word(0, 6), { maxLength: 4 }),
        word(0, 60),
        fc.array(fc.nat(), { maxLength: 12 }),
        (secrets, text, cuts) => {
          const whole = plainly(secrets, text);
          expect(masked(secrets, text)).toBe(whole);
          expect(masked(secrets, ...chunked(Buffer.from(text), cuts))).toBe(whole);
        },
      ),
      { numRuns: 3_000 },
    );
  });

  test('the result is the same for any bytes and any secret, and contains no secret', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 16 }), { minLength: 1, maxLength: 3 }),
        fc.array(fc.oneof(fc.nat(2), fc.uint8Array({ maxLength: 12 })), { maxLength: 12 }),
        fc.array(fc.nat(), { maxLength: 12 }),
        (secrets, parts, cuts) => {
          const bytes = Buffer.concat(
            parts.map(part => Buffer.from(typeof part === 'number' ? (secrets[part] ?? '') : part)),
          );
          fc.pre(secrets.every(secret => !bytes.includes('[') && !secret.includes('[')));
          const whole = masked(secrets, bytes);
          expect(masked(secrets, ...chunked(bytes, cuts))).toBe(whole);
          for (const secret of secrets) {
            for (const part of whole.split('[masked]'))
              expect(part).not.toContain(Buffer.from(secret).toString('latin1'));
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test('the output so far never contains a secret', () => {
    fc.assert(
      fc.property(fc.array(word(1, 6), { minLength: 1, maxLength: 3 }), word(0, 40), (secrets, text) => {
        const masker = new Masker(secrets);
        let shown = '';
        for (const letter of text) {
          shown += masker.take(Buffer.from(letter)).toString();
          expect(plainly(secrets, text).startsWith(shown)).toBe(true);
        }
      }),
    );
  });
});

describe('large chunks', () => {
  test('are masked like the whole text, for any chunk borders', () => {
    const filler = 'The quick brown fox jumps over the lazy dog, and back again.\n'.repeat(400);
    const token = `gh${'p'}_${'a1B2'.repeat(9)}`;
    const masking = { secrets: ['violet-lantern-99173'], credentials: true };
    const bits = [token, 'violet-lantern-99173', 'https://me:hunter2@example.org/', '\\u0076iolet-lantern-99173'];
    for (const bit of bits) {
      const text = Buffer.from(`${filler}${bit} ${filler}`);
      const whole = new Masker(masking).whole(text).toString();
      expect(whole).toContain('[masked]');
      for (let cut = filler.length - 2; cut < filler.length + bit.length + 3; cut++) {
        const masker = new Masker(masking);
        const parts = [text.subarray(0, 30), text.subarray(30, cut), text.subarray(cut)].map(part => masker.take(part));
        expect(Buffer.concat([...parts, masker.end()]).toString(), `${bit} at ${cut}`).toBe(whole);
      }
    }
  });
});

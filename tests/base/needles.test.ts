import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chanceFrom, textOf } from '../../bench/leaks.ts';
import { CREDENTIALS } from '../../src/base/credentials.ts';
import { type Hit, Needles } from '../../src/base/needles.ts';

/** All matches in order. */
function found(needles: Needles, bytes: Buffer): Hit[] {
  const hits: Hit[] = [];
  const search = needles.over(bytes);
  for (let hit = search.next(0); hit; hit = search.next(hit.at + 1)) hits.push(hit);
  return hits;
}

/** Needles that have searched enough bytes to use a sieve if possible. */
function sieved(texts: readonly string[]): Needles {
  const needles = new Needles(texts);
  needles.find(Buffer.alloc(200_000, ' '), 0);
  return needles;
}

/** A simple reference: at each position, the longest matching text. */
function plainly(texts: readonly string[], bytes: Buffer): Hit[] {
  const lengths = new Map<number, number>();
  for (const text of new Set(texts)) {
    const needle = Buffer.from(text);
    for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, at + 1)) {
      lengths.set(at, Math.max(lengths.get(at) ?? 0, needle.length));
    }
  }
  return [...lengths].sort(([a], [b]) => a - b).map(([at, length]) => ({ at, length }));
}

/** More than one block of the sieve, from a small alphabet, for many matches and near misses. */
function haystack(texts: readonly string[], seed: number, length: number): Buffer {
  const chance = chanceFrom(seed);
  const letters = [...new Set(texts.join(''))].join('') || 'a';
  const parts: Buffer[] = [];
  for (let size = 0; size < length; ) {
    const text = texts[Math.floor(chance() * texts.length)] ?? '';
    const cut = Buffer.from(text).subarray(0, Math.floor(chance() * 40));
    const filler = textOf(chance, `${letters} etaoin`, Math.floor(chance() * 60));
    const part = chance() < 0.3 ? cut : Buffer.from(filler);
    parts.push(part);
    size += part.length + 1;
  }
  return Buffer.concat(parts);
}

describe('finds exactly the needles in a large text', () => {
  const texts = (minLength: number, maxLength: number): fc.Arbitrary<string[]> =>
    fc.array(
      fc.oneof(
        fc.string({ unit: fc.constantFrom('a', 'b', '\0', 'é'), minLength, maxLength }),
        fc.string({ unit: 'grapheme', minLength, maxLength }),
      ),
      { minLength: 1, maxLength: 12 },
    );

  test.each([
    ['of any length', 1, 20],
    ['of four bytes or more', 4, 12],
    ['of eleven bytes or more', 11, 40],
  ])('%s', (_, minLength, maxLength) => {
    fc.assert(
      fc.property(
        texts(minLength, maxLength),
        fc.nat(),
        fc.integer({ min: 5_000, max: 9_000 }),
        (all, seed, length) => {
          const bytes = haystack(all, seed, length);
          expect(found(new Needles(all), bytes)).toEqual(plainly(all, bytes));
        },
      ),
      { numRuns: 100, seed: 20_260_106 },
    );
  });

  test.each([4, 11])('of %i bytes, across block boundaries', length => {
    const text = textOf(chanceFrom(length), 'abcdefghijklmnop0123456789', length);
    const needles = sieved([text]);
    const chance = chanceFrom(3);
    const filler = Buffer.from(textOf(chance, 'qrstuvwxyz \n', 220_000));
    for (let place = 4_096 - 40; place < 4_096 + 40; place++) {
      for (const at of [place, place + 65_536, place + 131_072]) {
        const bytes = Buffer.from(filler);
        bytes.write(text, at);
        expect(needles.find(bytes, 0)).toEqual({ at, length });
      }
    }
    for (const at of [filler.length - length, 0]) {
      const bytes = Buffer.from(filler);
      bytes.write(text, at);
      expect(needles.find(bytes, 0)).toEqual({ at, length });
    }
  });

  test('that start well-known credentials', () => {
    const anchors = CREDENTIALS.flatMap(credential => credential.anchors);
    const needles = sieved(anchors);
    for (let seed = 0; seed < 20; seed++) {
      const bytes = haystack(anchors, seed, 80_000);
      expect(found(needles, bytes)).toEqual(plainly(anchors, bytes));
    }
  });

  test('if there are 3,000 of them', () => {
    const chance = chanceFrom(9);
    const all = Array.from({ length: 3_000 }, () => textOf(chance, 'abcdefghijklmnop0123456789', 14));
    const bytes = haystack(all, 1, 30_000);
    expect(found(sieved(all), bytes)).toEqual(plainly(all, bytes));
  });
});

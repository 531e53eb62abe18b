import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesHash } from '../../../src/base/hash.ts';
import type { KeptStream } from '../../../src/contracts/capture.ts';
import { storedStream } from '../../../src/evidence/step/stored-stream.ts';

/** A stream of which only the first and last bytes were kept. */
function streamOf(bytes: Uint8Array, headBytes: number, tailBytes: number): KeptStream {
  const head = bytes.subarray(0, headBytes);
  const rest = bytes.subarray(head.length);
  const tail = rest.subarray(Math.max(0, rest.length - tailBytes));
  return { bytesTotal: bytes.length, sha256: bytesHash(bytes), head, tail, masked: 0 };
}

const stored = (text: string, headBytes: number, tailBytes: number): string =>
  Buffer.from(storedStream(streamOf(Buffer.from(text), headBytes, tailBytes)).bytes).toString();

describe('a complete stream', () => {
  test('is stored byte for byte, whatever its bytes are', () => {
    const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    for (const headBytes of [0, 1, 128, 195, 255, 256, 300]) {
      const { bytes, note } = storedStream(streamOf(all, headBytes, 256));
      expect(Buffer.from(bytes)).toEqual(Buffer.from(all));
      expect(note).toEqual({ bytesTotal: 256, sha256: bytesHash(all), masked: 0, bytesKept: 256 });
    }
  });

  test('is not cut if its two ends meet inside a character', () => {
    expect(stored('aé€😀z', 2, 100)).toBe('aé€😀z');
  });
});

describe('a truncated stream', () => {
  const rows: [string, string, number, number, string][] = [
    ['states how many bytes are missing', 'abcdefghij', 3, 2, 'abc\n[5 bytes are missing here]\nij'],
    ['drops a character that is cut at the head', 'ab€xxxxxxyz', 4, 2, 'ab\n[9 bytes are missing here]\nyz'],
    ['keeps a character that ends at the cut', 'ab€xxxxxxyz', 5, 2, 'ab€\n[6 bytes are missing here]\nyz'],
    ['drops a character that is cut at the tail', 'abxxxxxx€yz', 2, 4, 'ab\n[9 bytes are missing here]\nyz'],
    ['keeps a character that starts at the cut', 'abxxxxxx€yz', 2, 5, 'ab\n[6 bytes are missing here]\n€yz'],
    ['may drop characters on both sides', 'a😀xxxx😀z', 4, 4, 'a\n[12 bytes are missing here]\nz'],
    ['may keep nothing', '€€€€', 2, 2, '\n[12 bytes are missing here]\n'],
    ['may keep only its head', 'abcdef', 4, 0, 'abcd\n[2 bytes are missing here]\n'],
    ['may keep only its tail', 'abcdef', 0, 4, '\n[2 bytes are missing here]\ncdef'],
  ];
  test.each(rows)('%s', (_, text, headBytes, tailBytes, expected) => {
    expect(stored(text, headBytes, tailBytes)).toBe(expected);
  });

  test('keeps the start and the end, and counts the rest', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 60 }),
        fc.nat(60),
        fc.nat(60),
        (text, headBytes, tailBytes) => {
          const whole = Buffer.from(text);
          const { bytes, note } = storedStream(streamOf(whole, headBytes, tailBytes));
          expect(isUtf8(bytes)).toBe(true);
          if (whole.length <= headBytes + tailBytes) {
            expect(Buffer.from(bytes)).toEqual(whole);
            return;
          }
          const mark = `\n[${whole.length - note.bytesKept} bytes are missing here]\n`;
          const [first = '', last = ''] = Buffer.from(bytes).toString().split(mark);
          expect(text.startsWith(first) && text.endsWith(last)).toBe(true);
          expect(Buffer.byteLength(first) + Buffer.byteLength(last)).toBe(note.bytesKept);
          // Only the character at the cut is lost.
          expect(headBytes - Buffer.byteLength(first)).toBeLessThan(4);
          expect(tailBytes - Buffer.byteLength(last)).toBeLessThan(4);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

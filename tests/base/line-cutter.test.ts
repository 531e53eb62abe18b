import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LineCutter } from '../../src/base/line-cutter.ts';

function cut(pieces: readonly Buffer[], lineBytesMax = 8): (string | null)[] {
  const lines: (string | null)[] = [];
  const cutter = new LineCutter(lineBytesMax);
  const take = (bytes: Buffer | null): void => void lines.push(bytes && bytes.toString('latin1'));
  for (const piece of pieces) cutter.take(piece, take);
  cutter.end(take);
  return lines;
}

const pieces = (...texts: string[]): Buffer[] => texts.map(text => Buffer.from(text, 'latin1'));

describe('a stream of chunks', () => {
  test.each<[string, Buffer[], (string | null)[]]>([
    ['nothing', [], []],
    ['lines in one piece', pieces('a\nb\n'), ['a', 'b']],
    ['a line in many pieces', pieces('a', 'b', '\n'), ['ab']],
    ['a line without an end', pieces('a\nb'), ['a', 'b']],
    ['empty lines', pieces('\n\n'), ['', '']],
    ['a line that is just long enough', pieces('12345678\n'), ['12345678']],
    ['a line that is too long', pieces('1234', '56789', '0\nb\n'), [null, 'b']],
    ['a line that is too long and has no end', pieces('123456789'), [null]],
  ])('is split into lines: %s', (_, given, expected) => {
    expect(cut(given)).toEqual(expected);
  });

  test('yields the same lines for any chunking', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.array(fc.nat(59), { maxLength: 8 }), (bytes, places) => {
        const feeds = Buffer.from(bytes.map(byte => (byte % 5 === 0 ? 0x0a : byte)));
        const at = [0, ...places.filter(place => place < feeds.length).sort((a, b) => a - b), feeds.length];
        const parts = at.slice(1).map((end, index) => feeds.subarray(at[index], end));
        expect(cut(parts)).toEqual(cut([feeds]));
      }),
    );
  });

  test('gives access to an incomplete line', () => {
    const cutter = new LineCutter(8);
    cutter.take(Buffer.from('a\nPassw'), () => undefined);
    cutter.take(Buffer.from('ord'), () => undefined);
    expect(cutter.rest(8)?.tail.toString()).toBe('Password');
    expect(cutter.rest(4)?.tail.toString()).toBe('word');
    expect(cutter.rest(4)?.first).toBe('P'.charCodeAt(0));
    cutter.take(Buffer.from('!'), () => undefined);
    expect(cutter.rest(8)).toBeUndefined();
  });

  test('accepts a line that arrives byte by byte', () => {
    const cutter = new LineCutter(10_000);
    const lines: (string | undefined)[] = [];
    for (let letter = 0; letter < 5_000; letter++) cutter.take(Buffer.from('x'), () => undefined);
    cutter.take(Buffer.from('\n'), line => lines.push(line?.toString()));
    expect(lines).toEqual(['x'.repeat(5_000)]);
  });
});

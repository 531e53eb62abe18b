import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { streamLines, streamPart } from '../../../src/reports/pages/stream-part.ts';

const linesOf = (text: string) => streamLines(Buffer.from(text));

describe('the lines of a stream', () => {
  test('are those of the file, without a trailing empty one', () => {
    expect(linesOf('one\ntwo\r\n\nfour\n').lines).toEqual(['one', 'two', '', 'four']);
    expect(linesOf('one').lines).toEqual(['one']);
    expect(linesOf('').lines).toEqual([]);
    expect(linesOf('\n').lines).toEqual(['']);
    expect(linesOf('\n\n').lines).toEqual(['', '']);
  });

  test('equal those of a plain split, as long as none is left out', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.constantFrom('a', 'é', '\n', ' ') }), { maxLength: 50 }), parts => {
        const text = parts.join('');
        const { lines, gap } = linesOf(text);
        expect(gap).toBeNull();
        expect(lines).toEqual(text === '' ? [] : text.replace(/\n$/, '').split('\n'));
      }),
    );
  });

  test('are the first and the last 1,000, and the gap counts the others', () => {
    const all = Array.from({ length: 5_000 }, (_, index) => `line ${index + 1}`);
    const { lines, gap } = linesOf(`${all.join('\n')}\n`);
    expect(lines).toHaveLength(2_000);
    expect(lines.slice(0, 1_000)).toEqual(all.slice(0, 1_000));
    expect(lines.slice(1_000)).toEqual(all.slice(4_000));
    expect(gap).toEqual({ after: 1_000, lines: 3_000 });
  });

  test('are never counted twice, whatever their number', () => {
    for (const total of [1_000, 1_001, 1_999, 2_000, 2_001]) {
      const { lines, gap } = linesOf('x\n'.repeat(total));
      expect(lines.length + (gap?.lines ?? 0)).toBe(total);
    }
  });

  test('take at most 150,000 bytes from each end', () => {
    const { lines, gap } = linesOf(`${'y'.repeat(3_000)}\n`.repeat(500));
    expect(lines).toHaveLength(100);
    expect(gap).toEqual({ after: 50, lines: 400 });
  });

  test('are cut after 4,000 bytes, at a whole character, and say how much is missing', () => {
    const [line] = linesOf(`a${'é'.repeat(3_000)}`).lines;
    expect(line).toEqual([`a${'é'.repeat(1_999)}`, 2_002]);
  });

  test('keep a byte order mark, and mark bytes that are not UTF-8', () => {
    expect(linesOf('\ufeffx').lines).toEqual(['\ufeffx']);
    const { lines, is_utf8 } = streamLines(Buffer.from([0x61, 0xff, 0x62]));
    expect({ lines, is_utf8 }).toEqual({ lines: ['a\ufffdb'], is_utf8: false });
  });
});

test('a stream whose file cannot be read has no text, not an empty one', () => {
  const stream = { name: 'stdout', bytes_total: 5, bytes_kept: 5, truncated: false, masked: 0 } as const;
  const { text } = streamPart({ ...stream, sha256: `sha256:${'0'.repeat(64)}` }, 'stdout.txt', undefined);
  expect(text).toBeNull();
});

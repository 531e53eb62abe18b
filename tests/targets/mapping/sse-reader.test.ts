import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { readFrames } from '../../../src/targets/mapping/frames.ts';
import { SseReader } from '../../../src/targets/mapping/sse-reader.ts';

const piece = fc.constantFrom(
  'data: a',
  'data:b',
  'data',
  'event: x',
  ': c',
  '',
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  '\uFEFF',
  'ü',
);

test('finds the same data as the reader of stored streams, however the bytes are split', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), fc.array(fc.nat(9), { maxLength: 20 }), (pieces, sizes) => {
      const bytes = Buffer.from(pieces.join(''));
      const reader = new SseReader(1_000);
      const found: string[] = [];
      let from = 0;
      for (const size of [...sizes, bytes.length]) {
        found.push(...reader.take(bytes.subarray(from, from + size)).map(String));
        from = Math.min(bytes.length, from + size);
      }
      const whole = readFrames(bytes, 'sse');
      expect(found).toEqual(whole.ok ? whole.document.frames.map(({ data }) => data) : []);
    }),
    { seed: 15, numRuns: 2_000 },
  );
});

test('truncates a line that is too long, and continues', () => {
  const reader = new SseReader(10);
  expect(reader.take(Buffer.from('data: 0123456789\n\ndata: x\n\n')).map(String)).toEqual(['0123', 'x']);
});

test('copies each byte of a line at most twice, however many chunks it comes in', () => {
  const line = Buffer.from(`data: ${'x'.repeat(20_000)}\n\n`);
  const concat = vi.spyOn(Buffer, 'concat');
  const reader = new SseReader(1_000_000);
  const events = Array.from(line, (_, index) => reader.take(line.subarray(index, index + 1))).flat();
  const copied = concat.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0);
  concat.mockRestore();
  expect(events.map(String)).toEqual(['x'.repeat(20_000)]);
  expect(copied).toBeLessThanOrEqual(2 * line.length);
});

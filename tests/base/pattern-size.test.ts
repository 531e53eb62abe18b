import fc from 'fast-check';
import { RE2JS } from 're2js';
import { expect, test } from 'vitest';
import { PATTERN_SIZE_MAX, patternSize } from '../../src/base/pattern-size.ts';

const PARTS = [
  ...['a', 'b', 'é', '𝒳', 'k', '.', '^', '$', '|', '(', ')', '(?:', '(?i)', '*', '+', '?'],
  ...[String.raw`\p{L}`, String.raw`\d`, String.raw`\b`, String.raw`\Qa.b\E`, '[a-z]', '[^x]', '[[:alpha:]x]', '[]a]'],
  ...['{3}', '{2,5}', '{0,7}', '{4,}'],
];

test('the estimated size of a pattern is at least half the size of its RE2 program', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...PARTS), { maxLength: 14 }), parts => {
      const pattern = parts.join('');
      let size: number;
      try {
        size = RE2JS.compile(pattern).programSize();
      } catch {
        return;
      }
      expect(patternSize(pattern)).toBeGreaterThanOrEqual(size / 2);
    }),
    { seed: 20_260_403, numRuns: 20_000 },
  );
});

test.each([
  ['(?:a{0,1000})'.repeat(6)],
  [String.raw`\p{L}{0,1000}`.repeat(6)],
  ['(((x{10}){10}){10}){10}'],
  [String.raw`\Q${'abc'.repeat(3_400)}\E`],
  ['(?:abcdefghij){1000}'],
])('rejects a pattern whose program exceeds the limit: %#', pattern => {
  expect(patternSize(pattern)).toBeGreaterThan(PATTERN_SIZE_MAX);
});

test.each([
  [String.raw`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?Z$`],
  [String.raw`\b(?:${Array.from({ length: 500 }, (_, index) => `word${index}`).join('|')})\b`],
  ['.{1000}'],
])('accepts a typical pattern: %#', pattern => {
  expect(patternSize(pattern)).toBeLessThan(PATTERN_SIZE_MAX);
});

import { describe, expect, test } from 'vitest';
import { type Caps, capsFrom, DEFAULT_CAPS, ends } from '../../src/policy/caps.ts';

describe('caps', () => {
  test('default to the standard values', () => {
    expect(capsFrom({})).toEqual(DEFAULT_CAPS);
    expect(capsFrom({ htmlBytes: 10 })).toEqual({ ...DEFAULT_CAPS, htmlBytes: 10 });
  });

  test.each<[keyof Caps, unknown]>([
    ['stdoutBytes', 999],
    ['stderrBytes', 64 * 1024 ** 2 + 1],
    ['htmlBytes', -1],
    ['htmlBytes', 500_001],
    ['summaryBytes', 2_001],
    ['summaryBytes', 100.5],
    ['stdoutBytes', '200000'],
    ['stdoutBytes', null],
  ])('reject %s = %s', (name, value) => {
    expect(() => capsFrom({ [name]: value })).toThrow(
      new RegExp(`^The cap ${name} \\(kept_\\w+_bytes\\) must be an integer from [\\d,]+ to [\\d,]+\\.$`),
    );
  });

  test('keep at least three quarters from the start, and the rest from the end', () => {
    for (const bytes of [1_000, 1_001, 1_002, 1_003, 200_000]) {
      const { headBytes, tailBytes } = ends(bytes);
      expect(headBytes + tailBytes).toBe(bytes);
      expect(headBytes).toBeGreaterThanOrEqual(3 * tailBytes);
    }
  });
});

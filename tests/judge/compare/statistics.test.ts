import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { meanInterval, percentile } from '../../../src/judge/compare/statistics.ts';

describe('the interval of a mean', () => {
  test('contains the mean', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 50 }), list => {
        const { mean, low, high } = meanInterval(Float64Array.from(list));
        expect(low).toBeLessThanOrEqual(mean);
        expect(high).toBeGreaterThanOrEqual(mean);
      }),
    );
  });

  test('has no width if nothing varies, or for a single value', () => {
    expect(meanInterval(new Float64Array(40).fill(2.5))).toEqual({ mean: 2.5, low: 2.5, high: 2.5 });
    expect(meanInterval(Float64Array.of(7))).toEqual({ mean: 7, low: 7, high: 7 });
  });

  test('matches the tables: t for 4 degrees of freedom at 97.5 % is 2.776', () => {
    const { mean, low, high } = meanInterval(Float64Array.of(1, 2, 3, 4, 5));
    expect(mean).toBe(3);
    // The standard error is the square root of 2.5 / 5.
    expect(high - mean).toBeCloseTo(2.7764451 * Math.sqrt(0.5), 5);
    expect(mean - low).toBeCloseTo(high - mean, 12);
  });
});

test('percentiles are interpolated between neighbours', () => {
  const sorted = Float64Array.of(10, 20, 30, 40);
  expect([0, 0.5, 0.95, 1].map(share => percentile(sorted, share))).toEqual([10, 25, 38.5, 40]);
  expect(percentile(Float64Array.of(7), 0.95)).toBe(7);
});

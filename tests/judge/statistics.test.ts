import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bootstrap, percentile } from '../../src/judge/statistics.ts';

describe('the bootstrap', () => {
  test('is the same every time, and holds the mean', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 50 }), list => {
        const differences = Float64Array.from(list);
        const interval = bootstrap(differences);
        expect(bootstrap(differences)).toEqual(interval);
        expect(interval.low).toBeLessThanOrEqual(interval.mean);
        expect(interval.high).toBeGreaterThanOrEqual(interval.mean);
      }),
      { numRuns: 30 },
    );
  });

  test('has no width where nothing varies', () => {
    expect(bootstrap(new Float64Array(40).fill(2.5))).toEqual({ mean: 2.5, low: 2.5, high: 2.5, drawn: 40 });
  });

  test('covers the true mean about as often as it says', () => {
    const next = chance(7);
    let covered = 0;
    const samples = 200;
    for (let sample = 0; sample < samples; sample++) {
      const { low, high } = bootstrap(Float64Array.from({ length: 60 }, () => 3 + normal(next)));
      if (low <= 3 && high >= 3) covered++;
    }
    expect(covered / samples).toBeGreaterThan(0.88);
    expect(covered / samples).toBeLessThan(0.99);
  });

  test('of very many pairs draws some at a time, says so, and is as wide as theory has it', () => {
    const next = chance(11);
    const { low, high, drawn } = bootstrap(Float64Array.from({ length: 40_000 }, () => normal(next)));
    expect(drawn).toBe(10_000);
    const expected = 2 * 1.96 * (1 / Math.sqrt(40_000));
    expect((high - low) / expected).toBeGreaterThan(0.85);
    expect((high - low) / expected).toBeLessThan(1.15);
  });
});

test('percentiles lie between neighbours in proportion', () => {
  const sorted = Float64Array.of(10, 20, 30, 40);
  expect([0, 0.5, 0.95, 1].map(share => percentile(sorted, share))).toEqual([10, 25, 38.5, 40]);
  expect(percentile(Float64Array.of(7), 0.95)).toBe(7);
});

/** Numbers from 0 to 1 that are the same in every run of the test. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

function normal(next: () => number): number {
  return Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next());
}

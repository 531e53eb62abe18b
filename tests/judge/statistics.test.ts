import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bootstrap, mcnemar, moreTrials, percentile } from '../../src/judge/statistics.ts';

describe('exact McNemar', () => {
  // 2 · Σ C(n, k) / 2ⁿ for k up to the smaller of the two, with exact integers or sixty digits; never more than 1.
  const known: [broke: number, mended: number, p: number][] = [
    [0, 0, 1],
    [1, 0, 1],
    [5, 0, 0.0625],
    [6, 0, 0.03125],
    [0, 6, 0.03125],
    [8, 1, 0.0390625],
    [7, 2, 0.1796875],
    [10, 2, 0.03857421875],
    [12, 5, 0.143463134765625],
    [59, 62, 0.85582159921108],
    [121, 59, 4.434449263755176e-6],
    [1_000, 1_100, 3.07207078642423e-2],
    [50_000, 50_000, 1],
    [50_500, 49_500, 1.582359878851596e-3],
    [49_000, 51_000, 2.588716038346898e-10],
    [100_000, 90_000, 1.669445950744154e-116],
  ];
  test.each(known)('%d broke and %d mended', (broke, mended, p) => {
    expect(Math.abs(mcnemar(broke, mended) / p - 1)).toBeLessThan(1e-9);
  });

  test('is the same whichever side is called the baseline, lies in 0 to 1, and falls as more break', () => {
    fc.assert(
      fc.property(fc.nat(3_000), fc.nat(3_000), (broke, mended) => {
        const p = mcnemar(broke, mended);
        expect(p).toBe(mcnemar(mended, broke));
        expect(p).toBeGreaterThanOrEqual(0);
        expect(p).toBeLessThanOrEqual(1);
        if (broke >= mended) expect(mcnemar(broke + 1, mended)).toBeLessThanOrEqual(p);
      }),
    );
  });

  test('stays a number where the probability is below all that a computer can write', () => {
    expect(mcnemar(100_000, 0)).toBe(0);
    expect(mcnemar(60_000, 40_000)).toBeGreaterThanOrEqual(0);
  });
});

describe('more trials', () => {
  test('are those that make six one-way breaks out of the present ones', () => {
    expect([1, 2, 3, 5].map(broke => moreTrials(broke, 0, 1))).toEqual([5, 2, 1, 1]);
    expect(moreTrials(2, 0, 2)).toBe(4);
  });

  test('are none where it is shown already, or nothing points to worse', () => {
    expect(moreTrials(6, 0, 1)).toBeNull();
    expect(moreTrials(3, 3, 1)).toBeNull();
    expect(moreTrials(0, 4, 1)).toBeNull();
    expect(moreTrials(0, 0, 0)).toBeNull();
  });

  test('are not told where it would take more than a thousand', () => {
    expect(moreTrials(50_001, 50_000, 1)).toBeNull();
  });

  test('would show it, and one fewer would not', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.nat(39), (broke, mended) => {
        const more = moreTrials(broke, mended, 1);
        if (more === null) return;
        expect(mcnemar(broke * (1 + more), mended * (1 + more))).toBeLessThan(0.05);
        expect(mcnemar(broke * more, mended * more)).toBeGreaterThanOrEqual(0.05);
      }),
    );
  });
});

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

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { caseP } from '../../../src/contracts/gate/decide/case-test.ts';
import { hypergeometric, normalTail, studentQuantile } from '../../../src/contracts/gate/decide/distributions.ts';
import { type CaseTrials, decideCases } from '../../../src/contracts/gate/decide/index.ts';

fc.configureGlobal({ seed: 20_260_117 });

const count = fc
  .integer({ min: 1, max: 6 })
  .chain(trials => fc.record({ passes: fc.integer({ min: 0, max: trials }), trials: fc.constant(trials) }));
const side = count.map(planned => ({ planned, again: { passes: 0, trials: 0 } }));
const suite = fc
  .array(fc.record({ baseline: side, candidate: side }), { minLength: 1, maxLength: 40 })
  .map(cases => cases.map((one, index): CaseTrials => ({ id: `case-${index}`, ...one })));
const mode = fc.constantFrom('balanced' as const, 'proven' as const, 'strict' as const);

test('the verdict does not depend on the order of cases', () => {
  fc.assert(
    fc.property(suite, mode, (cases, mode) => {
      const one = decideCases(cases, { mode });
      const other = decideCases([...cases].reverse(), { mode });
      expect(other.verdict).toBe(one.verdict);
      expect(other.broken.map(({ case: id }) => id).sort()).toEqual(one.broken.map(({ case: id }) => id).sort());
    }),
  );
});

test('drops that cancel each other give the same verdict in any order', () => {
  const cases = ['3/3 2/3', '1/3 2/3', '5/6 4/6', '4/6 5/6', '2/5 1/5', '3/5 4/5', '6/6 5/6', '0/6 1/6'].map(
    (counts, index): CaseTrials => {
      const [before = '', now = ''] = counts.split(' ');
      return { id: `case-${index}`, baseline: sideOf(before), candidate: sideOf(now) };
    },
  );
  for (const index of cases.keys()) {
    const turned = cases.slice(index).concat(cases.slice(0, index));
    expect(decideCases(turned)).toMatchObject({ drop: 0, verdict: 'no_regression' });
  }
});

function sideOf(text: string): CaseTrials['baseline'] {
  const [passes = 0, trials = 0] = text.split('/').map(Number);
  return { planned: { passes, trials }, again: { passes: 0, trials: 0 } };
}

test('a suite is never worse than itself', () => {
  fc.assert(
    fc.property(suite, mode, (cases, mode) => {
      const same = cases.map(({ id, baseline }) => ({ id, baseline, candidate: baseline }));
      expect(decideCases(same, { mode })).toMatchObject({ broken: [], suspects: [] });
      expect(decideCases(same, { mode }).verdict).not.toBe('regression');
    }),
  );
});

test('the proven gate never passes a suite that the balanced gate does not pass', () => {
  fc.assert(
    fc.property(suite, cases => {
      if (decideCases(cases, { mode: 'proven' }).verdict === 'no_regression')
        expect(decideCases(cases).verdict).toBe('no_regression');
    }),
  );
});

test('fewer candidate passes never increase p', () => {
  fc.assert(
    fc.property(count, count, (baseline, candidate) => {
      if (candidate.passes === 0) return;
      const fewer = { ...candidate, passes: candidate.passes - 1 };
      expect(caseP(baseline, fewer)).toBeLessThanOrEqual(caseP(baseline, candidate) + 1e-12);
    }),
  );
});

test('the false alarm rate of a case never exceeds its level at any pass rate', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6 }),
      fc.integer({ min: 1, max: 6 }),
      fc.double({ min: 0.01, max: 0.99, noNaN: true }),
      fc.constantFrom(0.01, 0.025, 0.05, 0.125),
      (nB, nC, rate, level) => {
        const chance = (k: number, n: number): number => choose(n, k) * rate ** k * (1 - rate) ** (n - k);
        let alarms = 0;
        for (let b = 0; b <= nB; b++) {
          for (let c = 0; c <= nC; c++) {
            const p = caseP({ passes: b, trials: nB }, { passes: c, trials: nC });
            if (p <= level) alarms += chance(b, nB) * chance(c, nC);
          }
        }
        // The test tries pass rates in steps, so it can miss a maximum between two of them.
        expect(alarms).toBeLessThanOrEqual(level * 1.01);
      },
    ),
  );
});

function choose(n: number, k: number): number {
  let result = 1;
  for (let index = 1; index <= k; index++) result = (result * (n - k + index)) / index;
  return result;
}

test.each([
  [1, 0.05, 6.313752],
  [9, 0.05, 1.833113],
  [29, 0.025, 2.04523],
  [1_000, 0.05, 1.646379],
])('Student’s t with %i degrees of freedom has the upper %d quantile %d', (freedom, tail, value) => {
  expect(studentQuantile(tail, freedom)).toBeCloseTo(value, 5);
});

test.each([
  [0, 0.5],
  [1.959964, 0.025],
  [-1, 0.841345],
  [5, 2.866516e-7],
  [8, 6.220961e-16],
])('a standard normal variable exceeds %d with probability %d', (z, tail) => {
  expect(normalTail(z) / tail).toBeCloseTo(1, 4);
});

test('hypergeometric probabilities sum to 1 and have the right mean', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 400 }),
      fc.integer({ min: 0, max: 400 }),
      fc.integer({ min: 0, max: 400 }),
      (total, a, b) => {
        const passes = Math.min(a, total);
        const draws = Math.min(b, total);
        const chances = hypergeometric(total, passes, draws);
        const sum = chances.reduce((all, chance) => all + chance, 0);
        const mean = chances.reduce((all, chance, k) => all + k * chance, 0);
        expect(sum).toBeCloseTo(1, 9);
        expect(mean).toBeCloseTo((draws * passes) / total, 6);
      },
    ),
  );
});

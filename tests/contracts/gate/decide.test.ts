import { describe, expect, test } from 'vitest';
import { caseP, type Count } from '../../../src/contracts/gate/decide/case-test.ts';
import {
  askAgain,
  type CaseTrials,
  casesToAskAgain,
  decideCases,
  decideMetric,
  decideTrials,
  type GateTrial,
} from '../../../src/contracts/gate/decide/index.ts';

/** One case per text such as `3/3 1/3`: passes/trials of the baseline, then of the candidate. */
function casesOf(...counts: readonly string[]): CaseTrials[] {
  return counts.map((text, index) => {
    const [before = '', now = ''] = text.split(' ');
    return { id: `case-${index}`, baseline: sideOf(before), candidate: sideOf(now) };
  });
}

function sideOf(text: string): CaseTrials['baseline'] {
  const [passes = 0, trials = 0] = text.split('/').map(Number);
  return { planned: { passes, trials }, again: { passes: 0, trials: 0 } };
}

const many = (count: number, text: string): string[] => Array.from({ length: count }, () => text);

describe('a single case', () => {
  test.each([
    ['1/1 0/1', 1 / 4],
    ['2/2 0/2', 1 / 16],
    ['3/3 0/3', 1 / 64],
    ['4/4 0/4', 1 / 256],
    ['5/5 0/1', (5 / 6) ** 5 / 6],
  ])('has the exact Boschloo p value at %s', (counts, p) => {
    const [one] = casesOf(counts);
    // The test tries pass rates in steps of 1/200.
    expect(caseP(one?.baseline.planned as Count, one?.candidate.planned as Count)).toBeCloseTo(p, 4);
  });

  test.each([
    ['200/200 0/1', (200 / 201) ** 200 / 201],
    ['2500/2500 0/1', (2_500 / 2_501) ** 2_500 / 2_501],
    ['1000/2500 0/1', 0.5],
  ])('keeps its p value at %s, even with many trials on one side', (counts, least) => {
    const [one] = casesOf(counts);
    const p = caseP(one?.baseline.planned as Count, one?.candidate.planned as Count);
    // The test tries pass rates in steps of 1/200.
    expect(p).toBeGreaterThan(0.99 * least);
    expect(p).toBeLessThanOrEqual(1);
  });

  test('is neither broken nor suspect if it loses only some passes', () => {
    expect(decideCases(casesOf('3/3 1/3', ...many(20, '3/3 3/3')))).toMatchObject({ broken: [], suspects: [] });
  });

  test('is suspect if it always passed and now never does, until chance is ruled out', () => {
    const few = decideCases(casesOf('3/3 0/3', ...many(99, '3/3 3/3')));
    expect(few).toMatchObject({ verdict: 'not_enough_evidence', exitCode: 3, suspects: [{ case: 'case-0' }] });
    const enough = decideCases(casesOf('9/9 0/9', ...many(99, '3/3 3/3')));
    expect(enough).toMatchObject({ verdict: 'regression', exitCode: 1, broken: [{ case: 'case-0' }] });
    expect(enough.reason).toBe('1 of 100 cases broke, beyond chance: “case-0” (9/9 → 0/9).');
  });

  test('is a regression if it passes far less often over many trials', () => {
    expect(decideCases(casesOf('60/60 20/60'))).toMatchObject({ verdict: 'regression' });
  });

  test('is tested separately from a large suite if it is critical', () => {
    const cases = casesOf('3/3 0/3', ...many(99, '3/3 3/3'));
    expect(decideCases(cases, { critical: ['case-0'] })).toMatchObject({ verdict: 'regression' });
  });
});

describe('the suite', () => {
  test('is worse if every case passes less often', () => {
    const decision = decideCases(casesOf(...many(10, '3/3 1/3')));
    expect(decision).toMatchObject({ verdict: 'regression', broken: [] });
    expect(decision.reason).toMatch(/^The suite passes 66\.7 points less often than before\./);
  });

  test('rules out less with more looks, even without failures', () => {
    const highAt = (looks: number): number | null => decideCases(casesOf(...many(58, '1/1 1/1')), { looks }).high;
    expect(highAt(1)).toBeCloseTo(1 - 0.05 ** (1 / 58), 6);
    // Pocock's boundary for five looks at 5 % is z = 2.122.
    expect(highAt(5)).toBeCloseTo(1 - 0.01692 ** (1 / 58), 4);
  });

  test('gets the mid-p value of McNemar with one trial per side', () => {
    // 6 broke and 1 recovered: P(X > 6) + P(X = 6) / 2 for a fair coin tossed 7 times.
    const decision = decideCases(casesOf(...many(6, '1/1 0/1'), '0/1 1/1', ...many(30, '1/1 1/1')));
    expect(decision.p).toBeCloseTo((1 + 7 / 2) / 2 ** 7, 10);
  });

  test('gets similar p values from the exact test and the normal approximation', () => {
    const mix = (count: number): CaseTrials[] =>
      casesOf(...many(count, '3/3 2/3'), ...many(count, '2/3 3/3'), ...many(count / 5, '3/3 1/3'));
    const exact = decideCases(mix(135));
    const normal = decideCases(mix(140));
    expect(Math.log10(normal.p ?? 0)).toBeCloseTo(Math.log10(exact.p ?? 1), 0);
  });

  test('is not worse if unchanged, but needs enough trials to prove it', () => {
    const few = casesOf(...many(10, '3/3 3/3'));
    expect(decideCases(few)).toMatchObject({ verdict: 'no_regression', drop: 0, cause: 'not_worse' });
    const proven = decideCases(few, { mode: 'proven' });
    expect(proven).toMatchObject({ verdict: 'not_enough_evidence', cause: 'unsettled', moreTrials: 4 });
    expect(proven.high).toBeCloseTo(1 - 0.05 ** (1 / 30), 10);
    expect(decideCases(casesOf(...many(59, '3/3 3/3')), { mode: 'proven' })).toMatchObject({
      verdict: 'no_regression',
    });
  });

  test('is never proven to be no worse with one case', () => {
    expect(decideCases(casesOf('9/9 9/9'), { mode: 'proven' })).toMatchObject({
      verdict: 'not_enough_evidence',
      high: 1,
      moreTrials: null,
    });
  });

  test('is proven to be no worse at once if all answers are identical', () => {
    const cases = casesOf(...many(3, '1/1 1/1'));
    expect(decideCases(cases, { mode: 'proven', identical: true })).toMatchObject({ verdict: 'no_regression' });
  });

  test('has no result without pairs', () => {
    expect(decideCases([])).toMatchObject({ verdict: 'not_enough_evidence', drop: null, high: null, p: null });
  });

  test('requires most cases and every critical case on both sides', () => {
    const cases = casesOf(...many(96, '3/3 3/3'), ...many(4, '3/3 0/0'));
    expect(decideCases(cases).verdict).toBe('no_regression');
    expect(decideCases(cases, { missingMaxRatio: 0.03 })).toMatchObject({ cause: 'missing', exitCode: 3 });
    expect(decideCases(cases, { critical: ['case-99'] }).reason).toBe(
      'A critical case is missing on one side: “case-99”.',
    );
  });

  test('lacks evidence if cases are missing, and the reason names the sides', () => {
    const reasonOf = (...cases: string[]): string => decideCases(casesOf(...many(9, '3/3 3/3'), ...cases)).reason;
    const found = 'of 10 cases is missing on';
    expect(reasonOf('3/3 0/0')).toBe(`1 ${found} one side, and at most 5 % may be: “case-9”.`);
    expect(reasonOf('0/0 0/0')).toBe(`1 ${found} both sides, and at most 5 % may be: “case-9”.`);
    expect(reasonOf('0/0 0/0', '0/0 3/3')).toBe(
      '2 of 11 cases are missing on one side or both, and at most 5 % may be: “case-9”, “case-10”.',
    );
    expect(decideCases(casesOf('3/3 3/3', '0/0 0/0'), { critical: ['case-1'] }).reason).toBe(
      'A critical case is missing on both sides: “case-1”.',
    );
  });

  test('needs stronger evidence of a regression with more looks', () => {
    const cases = casesOf(...many(7, '1/1 0/1'), '0/1 1/1', ...many(30, '1/1 1/1'));
    expect(decideCases(cases).cause).toBe('worse');
    expect(decideCases(cases, { looks: 5 }).cause).not.toBe('worse');
  });
});

describe('strict mode', () => {
  test('fails for any case that always passed and now always fails', () => {
    expect(decideCases(casesOf('1/1 0/1', ...many(99, '1/1 1/1')), { mode: 'strict' })).toMatchObject({
      verdict: 'regression',
      reason: '1 of 100 cases always passed before and never passes now: “case-0” (1/1 → 0/1).',
    });
  });

  test('passes a suite without such a case', () => {
    expect(decideCases(casesOf('3/3 1/3', '0/3 3/3'), { mode: 'strict' })).toMatchObject({ verdict: 'no_regression' });
  });
});

describe('reruns', () => {
  const trials = (pass: boolean, count: number, rerun = false): GateTrial[] =>
    Array.from({ length: count }, (_, trial) => ({ case: 'a', trial, pass, rerun }));

  test('count for their case and never for the suite', () => {
    const before = [...trials(true, 1), ...trials(true, 5, true)];
    const now = [...trials(false, 1), ...trials(false, 5, true)];
    expect(decideTrials(before, now)).toMatchObject({ verdict: 'regression', drop: 1, cause: 'broken' });
    expect(decideTrials(trials(true, 1), [...trials(true, 1), ...trials(false, 1, true)])).toMatchObject({ drop: 0 });
  });

  test('stop for suspects once enough rounds settle them', () => {
    let cases = casesOf('1/1 0/1', '1/1 1/1', ...many(28, '1/1 1/1'));
    let rounds = 0;
    for (let ids = askAgain(cases); ids.length > 0; ids = askAgain(cases)) {
      expect(ids).toEqual(['case-0']);
      rounds++;
      cases = cases.map(one => (ids.includes(one.id) ? askedOnce(one, true, false) : one));
    }
    expect(rounds).toBe(6);
    expect(decideCases(cases).verdict).toBe('regression');
  });

  test('skip a case that was cleared', () => {
    const acquitted = casesOf('1/1 0/1', '1/1 0/1').map((one, index) => askedOnce(one, true, index === 0));
    expect(askAgain(acquitted)).toEqual(['case-1']);
  });

  test('repeat an unanswered round, up to a limit', () => {
    const cases = casesOf('1/1 0/1', '1/1 0/1').map((one, index) => (index === 0 ? askedOnce(one, true, false) : one));
    expect(askAgain(cases, { rounds: 1 })).toEqual(['case-0', 'case-1']);
    expect(askAgain(cases, { rounds: 100 })).toEqual([]);
  });

  test('can use the candidate alone if the baseline has enough trials', () => {
    const cases = casesOf('5/5 0/1', ...many(99, '5/5 1/1'));
    expect(askAgain(cases, { sides: 'candidate' })).toEqual(['case-0']);
    expect(askAgain(casesOf('1/1 0/1', ...many(99, '1/1 1/1')), { sides: 'candidate' })).toEqual([]);
  });

  test('are not needed if nothing looks broken', () => {
    expect(casesToAskAgain(trials(true, 3), trials(true, 3))).toEqual([]);
  });
});

function askedOnce({ id, baseline, candidate }: CaseTrials, before: boolean, now: boolean): CaseTrials {
  const more = ({ planned, again }: CaseTrials['baseline'], pass: boolean): CaseTrials['baseline'] => ({
    planned,
    again: { passes: again.passes + Number(pass), trials: again.trials + 1 },
  });
  return { id, baseline: more(baseline, before), candidate: more(candidate, now) };
}

describe('a metric', () => {
  const measures = (before: readonly number[], factor: number): { baseline: number[]; candidate: number[] }[] =>
    before.map(value => ({ baseline: [value], candidate: [value * factor] }));
  const values = [100, 210, 90, 300, 120, 80, 150, 95];

  test('is worse if the change is significant and above the limit', () => {
    const decision = decideMetric(measures(values, 1.5), { kind: 'ratio', limit: 0.2 });
    expect(decision).toMatchObject({ verdict: 'regression', cases: 8 });
    expect(decision.change).toBeCloseTo(0.5, 6);
  });

  test('is not a regression within the limit, even if the change is significant', () => {
    expect(decideMetric(measures(values, 1.1), { kind: 'ratio', limit: 0.2 }).verdict).toBe('no_regression');
  });

  test('lacks evidence with fewer than six cases', () => {
    expect(decideMetric(measures(values.slice(3), 3), { kind: 'ratio', limit: 0.2 })).toEqual({
      verdict: 'not_enough_evidence',
      cases: 5,
      change: null,
      low: null,
      high: null,
    });
  });

  test('ignores cases whose baseline is 0', () => {
    const zeros = Array.from({ length: 9 }, () => ({ baseline: [0], candidate: [1] }));
    expect(decideMetric(zeros, { kind: 'ratio', limit: 0.2 })).toMatchObject({ cases: 0 });
  });

  test.each(['ratio', 'difference'] as const)('with the median as its statistic ignores an outlier: %s', kind => {
    const limit = kind === 'ratio' ? 0.2 : 20;
    const outliers = values.map(value => ({ baseline: [value, value, value], candidate: [value, value, 50 * value] }));
    expect(decideMetric(outliers, { kind, limit }).verdict).toBe('regression');
    expect(decideMetric(outliers, { kind, limit, statistic: 'median' })).toMatchObject({
      verdict: 'no_regression',
      change: 0,
    });
    const slower = values.map(value => ({ baseline: [value, value], candidate: [2 * value, 4 * value] }));
    expect(decideMetric(slower, { kind, limit, statistic: 'median' }).verdict).toBe('regression');
  });

  test('with the median as its statistic takes the middle of an even number of trials', () => {
    const even = values.map(value => ({ baseline: [value], candidate: [value + 9, value + 1, value + 3, value] }));
    expect(decideMetric(even, { kind: 'difference', limit: 0, statistic: 'median' }).change).toBeCloseTo(2, 9);
  });

  test('is worse if a score falls', () => {
    const scores = values.map(() => ({ baseline: [0.9], candidate: [0.5] }));
    expect(decideMetric(scores, { kind: 'score', limit: 0.05 }).verdict).toBe('regression');
  });
});

test.each([
  [{ margin: 0 }, 'margin must be between 0 and 1.'],
  [{ alpha: 1 }, 'alpha must be between 0 and 1.'],
  [{ confidence: Number.NaN }, 'confidence must be between 0 and 1.'],
  [{ missingMaxRatio: 2 }, 'missingMaxRatio must be a number from 0 to 1.'],
  [{ looks: 6 }, 'looks must be an integer from 1 to 5.'],
])('rejects %o', (options, message) => {
  expect(() => decideCases([], options)).toThrow(new RangeError(message));
});

test('ignores rounding differences between means', () => {
  const measures = Array.from({ length: 40 }, () => ({ baseline: [0.1], candidate: [0.1, 0.1, 0.1] }));
  expect(decideMetric(measures, { kind: 'difference', limit: 0 })).toMatchObject({
    verdict: 'no_regression',
    change: 0,
  });
});

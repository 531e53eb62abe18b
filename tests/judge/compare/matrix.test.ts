import { describe, expect, test } from 'vitest';
import { type Comparison, VERDICT_OF } from '../../../src/contracts/comparison/index.ts';
import type { Matrix, MatrixDecider } from '../../../src/contracts/matrix.ts';
import type { JudgedCase, Side } from '../../../src/judge/compare-input.ts';
import { type Gate, gateOf } from '../../../src/judge/compare/gate.ts';
import { matrixOf } from '../../../src/judge/compare/matrix.ts';
import { randomFrom } from '../../support/random.ts';
import { compared, failedCase, hashOf, judgedCase, side, trial } from './sides.ts';

const SEED = 20_260_106;

const matrix = (sides: readonly Side[], gate: Gate = gateOf({}), decidedBy: MatrixDecider = 'reference') =>
  matrixOf(
    sides.map((one, index) => ({ name: `v${index + 1}`, side: one })),
    gate,
    { matrixId: 'matrix_1', generatedAt: '2026-01-07T09:31:00.000Z', decidedBy },
  );

const pairIn = ({ pairs }: Matrix, before: number, now: number) =>
  pairs.find(({ baseline, candidate }) => baseline === before && candidate === now);

/** Versions with flaky, broken, removed, unanswered, changed and unjudged cases; the same seed gives the same world. */
function seededSides(seed: number): Side[] {
  const random = randomFrom(seed);
  const cases = 2 + Math.floor(random() * 12);
  return Array.from({ length: 2 + Math.floor(random() * 3) }, (_, version) => {
    const weakness = random() * 0.5;
    const rates = Array.from({ length: cases }, () => (random() < 0.2 ? random() : 1 - weakness));
    const shown = rates.map(() => random());
    const runs = Array.from({ length: 1 + Math.floor(random() * 4) }, (): JudgedCase[] =>
      rates.flatMap((rate, index) => {
        if ((shown[index] as number) < 0.06) return [];
        const id = `case-${index}`;
        const over = (shown[index] as number) > 0.95 ? { case_sha256: hashOf(`${id} of ${version}`) } : {};
        const ending = random();
        if (ending < 0.04) return [judgedCase(id, { verdict: 'error', error_class: 'network_error', ...over })];
        if (ending < 0.06) return [judgedCase(id, { verdict: 'error', error_class: 'timeout', ...over })];
        return [random() < rate ? judgedCase(id, over) : failedCase(id, 'contains', over)];
      }),
    );
    return side(`version${version}`, ...runs);
  });
}

const GATES: readonly Gate[] = [
  gateOf({}),
  gateOf({ mode: 'proven' }),
  gateOf({ mode: 'strict' }),
  gateOf({ limits: { max_failing: 2 } }),
];

describe('a matrix', () => {
  test('decides every pair exactly as a comparison of the two versions', async () => {
    const seen = new Set<string>();
    for (let world = 0; world < 60; world++) {
      const sides = seededSides(SEED + world);
      const gate = GATES[world % GATES.length] as Gate;
      const made = await matrix(sides, gate);
      expect(made.pairs).toHaveLength(sides.length * (sides.length - 1));
      for (const pair of made.pairs) {
        const [before, now] = [sides[pair.baseline], sides[pair.candidate]] as [Side, Side];
        const { verdict, reason, decision, comparability }: Comparison = compared(before, now, gate);
        seen.add(verdict);
        expect(pair, `seed ${SEED + world}`).toMatchObject({
          verdict,
          reason,
          comparability: comparability.state,
          cause: decision?.cause,
          drop: decision?.drop,
          high: decision?.high,
          broken: decision?.broken.length,
          suspects: decision?.suspects.length,
        });
      }
    }
    expect([...seen].sort()).toEqual(['no_regression', 'not_enough_evidence', 'regression']);
  });

  test('mirrors the drop of a pair, and never finds the suite worse in both directions', async () => {
    for (let world = 0; world < 40; world++) {
      const sides = seededSides(SEED + 1_000 + world);
      const made = await matrix(sides);
      for (const pair of made.pairs) {
        const other = pairIn(made, pair.candidate, pair.baseline);
        if (pair.cause === 'worse') expect(other?.cause).not.toBe('worse');
      }
    }
    const [weak, strong] = [side('weak', [failedCase('a')]), side('strong', [judgedCase('a')])];
    const made = await matrix([weak, strong, side('same', [judgedCase('a')])]);
    expect([pairIn(made, 0, 1)?.drop, pairIn(made, 1, 0)?.drop]).toEqual([-1, 1]);
  });

  const good = (name: string) => side(name, ...Array.from({ length: 5 }, () => cases(20, () => true)));
  const cases = (count: number, isPassed: (index: number) => boolean): JudgedCase[] =>
    Array.from({ length: count }, (_, index) => (isPassed(index) ? judgedCase : failedCase)(`case-${index}`));
  const bad = (name: string) => side(name, ...Array.from({ length: 5 }, () => cases(20, index => index > 5)));

  test.each([
    [
      'no version is worse than the first',
      [bad('a'), good('b'), good('c')],
      0,
      'None of the other 2 versions is worse than “v1”.',
    ],
    [
      'a version is worse than the first',
      [good('a'), bad('b'), good('c')],
      1,
      '1 of 2 versions is worse than “v1”: “v2”.',
    ],
    ['two versions are worse', [good('a'), bad('b'), bad('c')], 1, '2 of 2 versions are worse than “v1”: “v2”, “v3”.'],
    [
      'the evidence is not enough',
      [side('a', [judgedCase('x')]), side('b', [failedCase('x')]), side('c', [judgedCase('x')])],
      3,
      'No version is shown to be worse than “v1”, but the evidence is not enough for “v2”.',
    ],
  ] as const)('says that %s', async (_, sides, exit, reason) => {
    expect(await matrix(sides)).toMatchObject({ exit_code: exit, reason, is_evidence: false });
  });

  test('with all pairs, judges each version against every earlier one', async () => {
    const sides = [bad('a'), good('b'), bad('c')];
    expect(await matrix(sides)).toMatchObject({
      verdict: 'no_regression',
      false_alarms: { pairs: 2, any_at_most: 0.1 },
    });
    expect(await matrix(sides, gateOf({}), 'all_pairs')).toMatchObject({
      verdict: 'regression',
      reason: '1 of 2 versions is worse than a version before it: “v3”.',
      false_alarms: { pairs: 3, each_at_most: 0.05, any_at_most: 0.15 },
    });
  });

  test('says that a version does not meet a limit, without calling it worse', async () => {
    const made = await matrix([bad('a'), bad('b'), good('c')], gateOf({ limits: { max_failing: 0 } }));
    expect(pairIn(made, 0, 1)).toMatchObject({ verdict: 'regression', is_only_limit: true });
    expect(VERDICT_OF[pairIn(made, 0, 1)?.cause ?? 'broken']).not.toBe('regression');
    expect(made.reason).toBe('1 of 2 versions is worse than “v1”, or does not meet a limit: “v2”.');
  });

  test('adds up the levels of all tests that could raise a false alarm, and states none without statistics', async () => {
    const sides = [good('a'), good('b'), good('c')];
    const gate = gateOf({ alpha: 0.02, critical: ['case-1'], tolerances: { latency_ms: { max_increase_ratio: 0.2 } } });
    expect((await matrix(sides, gate)).false_alarms).toEqual({ pairs: 2, each_at_most: 0.055, any_at_most: 0.11 });
    expect((await matrix(sides, gateOf({ mode: 'strict' }))).false_alarms).toBeNull();
  });
});

describe('the versions of a matrix', () => {
  const metrics = (cost: number | null, latency: number | null, tokens: number | null = null) =>
    ({ metrics: { cost_usd: cost, latency_ms: latency, tokens } }) as Partial<JudgedCase>;

  test('count what failed trials cost, per passed trial', async () => {
    const one = side('a', [judgedCase('x', metrics(0.1, 100, 10)), failedCase('y', 'contains', metrics(0.3, 300, 30))]);
    const { versions } = await matrix([
      one,
      side('b', [judgedCase('x'), judgedCase('y')]),
      side('c', [failedCase('x')]),
    ]);
    expect(versions[0]).toMatchObject({
      solved: 1,
      per_solved: { cost_usd: 0.4, latency_ms: 400, tokens: 40 },
      pass_rate: { rate: 0.5 },
      states: { pass: 1, fail: 1, absent: 0 },
    });
    // Nothing solved, and no cost reported.
    expect(versions[1]?.per_solved).toEqual({ cost_usd: null, latency_ms: 100, tokens: null });
    expect(versions[2]?.per_solved.latency_ms).toBeNull();
  });

  test('leave a cost unknown if one answer does not report it, but not if a trial has no answer', async () => {
    const known = judgedCase('x', metrics(0.1, 100));
    const cut = judgedCase('y', { verdict: 'error', error_class: 'network_error', ...metrics(null, null) });
    const { versions } = await matrix([
      side('a', [known, judgedCase('y', metrics(null, 100))]),
      side('b', [known, cut]),
      side('c', [known]),
    ]);
    expect(versions.map(({ per_solved }) => per_solved.cost_usd)).toEqual([null, 0.1, 0.1]);
    expect(versions.map(({ states }) => [states.missing, states.absent])).toEqual([
      [0, 0],
      [1, 0],
      [0, 1],
    ]);
  });

  test('do not count reruns of suspects, nor the repeated answers of a recording', async () => {
    const rerun = { ...side('a', [judgedCase('x')]) };
    const again: Side = {
      ...rerun,
      trials: [...rerun.trials, trial('a.a1', [failedCase('x')], { isRerun: true })],
    };
    const conditions = { 'settings.model_mode': 'replay' };
    const replayed: Side = {
      source: 'runs',
      trials: ['b', 'b.2'].map(id => trial(id, [judgedCase('x')], { conditions })),
    };
    const { versions, cases } = await matrix([again, replayed, side('c', [failedCase('x')])]);
    expect(versions.map(({ trials, pass_rate }) => [trials, pass_rate?.rate])).toEqual([
      [1, 1],
      [2, 1],
      [1, 0],
    ]);
    expect(cases[0]?.cells.map(({ trials }) => trials)).toEqual([1, 1, 1]);
  });

  test('list cases that differ first, and say which ones are defined differently', async () => {
    const other = judgedCase('y', { case_sha256: hashOf('another question') });
    const made = await matrix([
      side('a', [judgedCase('x'), judgedCase('y'), judgedCase('z')]),
      side('b', [judgedCase('x'), other, failedCase('z')]),
      side('c', [judgedCase('x'), judgedCase('y'), judgedCase('z')]),
    ]);
    expect(made.cases.map(({ case_id, differs, changed }) => [case_id, differs, changed])).toEqual([
      ['z', true, false],
      ['x', false, false],
      ['y', false, true],
    ]);
    expect(made).toMatchObject({ cases_total: 3, cases_differing: 1 });
  });

  test('name conditions that differ, with unknown values as null', async () => {
    const at = (name: string, conditions: Record<string, string>): Side => ({
      source: 'runs',
      trials: [trial(name, [judgedCase('x')], { conditions })],
    });
    const { conditions, pairs } = await matrix([
      at('a', { 'settings.retries': '2', 'provenance.model': 'one' }),
      at('b', { 'settings.retries': '0', 'provenance.model': 'two' }),
      at('c', { 'settings.retries': '2' }),
    ]);
    expect(conditions).toEqual([
      { field: 'provenance.model', values: ['one', 'two', null] },
      { field: 'settings.retries', values: ['2', '0', '2'] },
    ]);
    expect(pairs.map(({ comparability }) => comparability)).toContain('drift');
  });

  test('refuse the same run twice, and a version without a run', async () => {
    const one = side('a', [judgedCase('x')]);
    await expect(matrix([one, side('b', [judgedCase('x')]), one])).rejects.toThrow('“v1” and “v3” are the same run.');
    await expect(matrix([one, { source: 'runs', trials: [] }])).rejects.toThrow('The version “v2” has no run.');
  });
});

import { describe, expect, test } from 'vitest';
import { Fault } from '../../../src/base/fault.ts';
import { decideComparison } from '../../../src/contracts/comparison/index.ts';
import { gateOf } from '../../../src/judge/compare/gate.ts';
import { gateResults } from '../../../src/judge/compare/gate-results.ts';
import type { ResultRow } from '../../../src/run/results/row.ts';
import { ResultSide } from '../../../src/judge/results/side.ts';

type Measured = ResultRow['metrics'];

/** Trials by case, as in `{ a: '110' }`; a dash is a skipped case, and an `r` begins reruns. */
function sideOf(cases: Readonly<Record<string, string>>, metrics: (name: string) => Measured = () => ({})): ResultSide {
  const side = new ResultSide();
  const rows = Object.entries(cases).flatMap(([name, trials]) => {
    const reruns = trials.indexOf('r');
    return Array.from(trials, (mark, at): ResultRow[] =>
      mark === 'r'
        ? []
        : [
            {
              case: name,
              pass: mark === '-' ? null : mark === '1',
              rerun: reruns >= 0 && at > reruns,
              metrics: metrics(name),
              line: 1,
            },
          ],
    ).flat();
  });
  side.add(rows, false);
  return side;
}

const cases = (count: number, trials: string, changed: Readonly<Record<string, string>> = {}) => ({
  ...Object.fromEntries(Array.from({ length: count }, (_, at) => [`c${at}`, trials])),
  ...changed,
});

const faultOf = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
  throw new Error('A fault was expected.');
};

describe('the gate on results of any tool', () => {
  test('calls a broken case a regression, with its counts', () => {
    const found = gateResults(sideOf(cases(10, '111111')), sideOf(cases(10, '111111', { c3: '000000' })), gateOf({}));
    expect(found).toMatchObject({ verdict: 'regression', exit_code: 1, decision: { cause: 'broken' } });
    expect(found.reason).toBe('1 of 10 cases broke, beyond chance: “c3” (6/6 → 0/6).');
    expect(found.decision.broken).toMatchObject([
      { case_id: 'c3', baseline: { passes: 6, trials: 6 }, new: { passes: 0, trials: 6 } },
    ]);
  });

  test('names suspects to rerun, and settles them by trials that count for their case only', () => {
    const before = sideOf(cases(40, '1'));
    const suspected = gateResults(before, sideOf(cases(40, '1', { c3: '0' })), gateOf({}));
    expect(suspected).toMatchObject({ verdict: 'not_enough_evidence', exit_code: 3, ask_again: ['c3'] });
    const acquitted = gateResults(
      sideOf(cases(40, '1', { c3: '1r111' })),
      sideOf(cases(40, '1', { c3: '0r111' })),
      gateOf({}),
    );
    expect(acquitted.decision).toMatchObject({ suspects: [], broken: [] });
    expect(acquitted.decision.drop).toBe(0.025);
    const convicted = gateResults(
      sideOf(cases(40, '1', { c3: '1r11111' })),
      sideOf(cases(40, '1', { c3: '0r00000' })),
      gateOf({}),
    );
    expect(convicted).toMatchObject({ verdict: 'regression', decision: { cause: 'broken', drop: 0.025 } });
  });

  test('fails on a case that is gone or only skipped, and --allow-removed passes it in suites of any size', () => {
    const before = sideOf(cases(10, '111111'));
    const gone = sideOf(Object.fromEntries(Object.entries(cases(10, '111111')).slice(1)));
    const skipped = sideOf(cases(10, '111111', { c0: '------' }));
    for (const side of [gone, skipped]) {
      const closed = gateResults(before, side, gateOf({}));
      expect(closed).toMatchObject({ exit_code: 3, decision: { cause: 'removed', removed: ['c0'] } });
      expect(closed.reason).toContain('--allow-removed');
      expect(closed.skipped).toEqual(side === skipped ? ['c0'] : []);
      // One of ten exceeds the limit on missing cases; allowed removals do not count.
      expect(gateResults(before, side, gateOf({ allow_removed: true }))).toMatchObject({ exit_code: 0 });
      const critical = gateOf({ allow_removed: true, critical: ['c0'] });
      expect(gateResults(before, side, critical)).toMatchObject({ exit_code: 3, decision: { cause: 'missing' } });
    }
  });

  test('does not pass sides that cannot get worse or have nothing in common', () => {
    const failing = sideOf(cases(10, '000'));
    expect(gateResults(failing, sideOf(cases(10, '000')), gateOf({}))).toMatchObject({
      exit_code: 3,
      decision: { cause: 'all_failing' },
    });
    for (const mode of ['balanced', 'proven', 'strict'] as const) {
      expect(gateResults(sideOf({ a: '1' }), sideOf({ b: '1' }), gateOf({ mode }))).toMatchObject({
        exit_code: 3,
        decision: { cause: 'no_pairs' },
      });
    }
  });

  test('ignores cases that are skipped on both sides', () => {
    const skipped = { c0: '-', c1: '-' };
    const found = gateResults(sideOf(cases(10, '1', skipped)), sideOf(cases(10, '1', skipped)), gateOf({}));
    expect(found).toMatchObject({ exit_code: 0, decision: { cases: 8, removed: [] } });
  });

  test('widens its confidence interval with the number of looks', () => {
    const before = sideOf(cases(60, '1'));
    const once = gateResults(before, sideOf(cases(60, '1')), gateOf({ mode: 'proven' }));
    const often = gateResults(before, sideOf(cases(60, '1')), gateOf({ mode: 'proven', looks: 5 }));
    expect(once).toMatchObject({ exit_code: 0 });
    expect(often.decision.high).toBeGreaterThan(once.decision.high as number);
  });

  test('rejects a critical case that neither side has, and settings that it does not support', () => {
    const side = () => sideOf(cases(3, '1'));
    expect(faultOf(() => gateResults(side(), side(), gateOf({ critical: ['refund-7'] })))).toBe(
      'The critical case "refund-7" is missing from the results of both sides.',
    );
    const later = { ...gateOf({}), min_something: 1 };
    expect(faultOf(() => gateResults(side(), side(), later))).toBe(
      'proctor gate does not support "min_something" in the gate file. Use proctor compare.',
    );
  });
});

describe('tolerances', () => {
  const steady = cases(8, '1');
  const measured = (metrics: Measured) => sideOf(steady, () => metrics);
  const limits = (tolerances: NonNullable<Parameters<typeof gateOf>[0]['tolerances']>) => gateOf({ tolerances });
  const slower = limits({ latency_ms: { statistic: 'mean', max_increase_ratio: 0.2 } });

  test('report a regression beyond the limit and beyond chance', () => {
    const found = gateResults(measured({ latency_ms: 100 }), measured({ latency_ms: 130 }), slower);
    expect(found).toMatchObject({ verdict: 'regression', exit_code: 1 });
    expect(found.reason).toBe('Latency is 30 % higher than before; at most 20 % is allowed.');
    expect(gateResults(measured({ latency_ms: 100 }), measured({ latency_ms: 110 }), slower)).toMatchObject({
      exit_code: 0,
    });
  });

  test('apply to the time to first token as to latency', () => {
    const gate = limits({ ttft_ms: { statistic: 'mean', max_increase_ratio: 0.2 } });
    const found = gateResults(measured({ ttft_ms: 100 }), measured({ ttft_ms: 130 }), gate);
    expect(found).toMatchObject({ verdict: 'regression', exit_code: 1 });
    expect(found.reason).toBe('Time to first token is 30 % higher than before; at most 20 % is allowed.');
    expect(gateResults(measured({ ttft_ms: 100 }), measured({ latency_ms: 1 }), gate)).toMatchObject({ exit_code: 3 });
  });

  test('are undecided if cases disagree', () => {
    const candidate = sideOf(steady, name => ({ latency_ms: name === 'c1' ? 900 : 100 }));
    const found = gateResults(measured({ latency_ms: 100 }), candidate, slower);
    expect(found).toMatchObject({ verdict: 'not_enough_evidence', exit_code: 3 });
    expect(found.reason).toMatch(
      /^Latency is [\d.]+ % higher than before, and up to [\d.]+ % cannot be ruled out; at most 20 % is allowed\.$/,
    );
  });

  test('are undecided if fewer than six cases were measured', () => {
    const found = gateResults(measured({}), measured({ latency_ms: 1 }), slower);
    expect(found).toMatchObject({ exit_code: 3 });
    expect(found.reason).toBe(
      'The gate limits latency, but no case reports it on both sides; at least 6 are required.',
    );
  });

  test("allow an absolute step in the metric's unit, and a drop in a score", () => {
    const step = limits({ cost_usd: { statistic: 'mean', max_increase: 0.01 } });
    expect(gateResults(measured({ cost_usd: 0.1 }), measured({ cost_usd: 0.12 }), step).reason).toBe(
      'Cost is $0.02 higher than before; at most $0.01 is allowed.',
    );
    expect(gateResults(measured({ cost_usd: 0.12 }), measured({ cost_usd: 0.1 }), step)).toMatchObject({
      exit_code: 0,
    });
    const score = limits({ score: { max_decrease: 0.02 } });
    expect(gateResults(measured({ score: 0.9 }), measured({ score: 0.8 }), score).reason).toBe(
      'The score is 0.1 lower than before; at most 0.02 is allowed.',
    );
    expect(gateResults(measured({ score: 0.8 }), measured({ score: 0.9 }), score)).toMatchObject({ exit_code: 0 });
  });

  describe('for a metric that many cases lack', () => {
    const hundred = cases(100, '1');
    const dearer = limits({ cost_usd: { statistic: 'mean', max_increase_ratio: 0.1 } });
    const costs = (first: number, cost_usd: number | undefined) =>
      sideOf(hundred, name => {
        if (Number(name.slice(1)) >= first) return { cost_usd: 0.01 };
        return cost_usd === undefined ? {} : { cost_usd };
      });

    test.each(['balanced', 'proven', 'strict'] as const)(
      'are undecided in %s mode, and the reason counts these cases',
      mode => {
        const found = gateResults(costs(94, 1), costs(94, undefined), { ...dearer, mode });
        expect(found).toMatchObject({ exit_code: 3, decision: { metrics: [{ cases: 6, lacking: 94 }] } });
        expect(found.reason).toBe('The gate limits cost, but 94 of 100 cases lack it on at least one side.');
      },
    );

    test('are undecided if neither side reports the cost of its answers', () => {
      expect(gateResults(costs(94, undefined), costs(94, undefined), dearer)).toMatchObject({ exit_code: 3 });
    });

    test('are undecided if cases cost nothing in the baseline, because that increase has no ratio', () => {
      const found = gateResults(costs(94, 0), costs(94, 5), dearer);
      expect(found).toMatchObject({ exit_code: 3, decision: { metrics: [{ cases: 6, without_ratio: 94 }] } });
      expect(found.reason).toBe(
        'The gate limits cost, but 94 of 100 cases had a value of 0 in the baseline, so an increase has no ratio.',
      );
    });

    test('are met if cases cost nothing on both sides', () => {
      expect(gateResults(costs(94, 0), costs(94, 0), dearer)).toMatchObject({
        exit_code: 0,
        decision: { metrics: [{ cases: 100, change: 0 }] },
      });
    });

    test('hold if few enough cases lack the metric', () => {
      const found = gateResults(costs(5, 1), costs(5, undefined), dearer);
      expect(found).toMatchObject({ exit_code: 0 });
      expect(found.decision.metrics[0]).not.toHaveProperty('lacking');
      expect(gateResults(costs(6, 1), costs(6, undefined), dearer)).toMatchObject({ exit_code: 3 });
    });
  });

  test("on the 95th percentile limit the tail, even as a step in the metric's unit", () => {
    const hundred = cases(100, '1');
    const slowest = (count: number) =>
      sideOf(hundred, name => ({ latency_ms: Number(name.slice(1)) < count ? 1_000 : 80 }));
    const tail = limits({ latency_ms: { statistic: 'p95', max_increase: 200 } });
    const before = () => sideOf(hundred, () => ({ latency_ms: 100 }));
    const found = gateResults(before(), slowest(20), tail);
    expect(found).toMatchObject({ exit_code: 1, decision: { metrics: [{ bounds: 'p95_difference', change: 0.2 }] } });
    expect(found.reason).toBe(
      'Trials with latency above the baseline’s 95th percentile plus 200 ms are 20 % more frequent than before; at most 5 % is allowed.',
    );
    expect(gateResults(before(), slowest(6), tail).exit_code).not.toBe(0);
    expect(gateResults(before(), slowest(0), tail)).toMatchObject({ exit_code: 0 });
  });

  test('ignore reruns', () => {
    const candidate = sideOf({ ...steady, c1: '1r1' }, () => ({ latency_ms: 100 }));
    candidate.add([{ case: 'c2', pass: true, rerun: true, metrics: { latency_ms: 90_000 }, line: 1 }], false);
    expect(gateResults(measured({ latency_ms: 100 }), candidate, slower)).toMatchObject({ exit_code: 0 });
  });
});

test('a comparison with --allow-removed does not count removed cases as missing', () => {
  const trials = [{ verdict: 'pass', error_class: null, latency_ms: null, cost_usd: null, score: 1 }] as const;
  const kept = Array.from({ length: 9 }, (_, at) => ({ case_id: `c${at}`, baseline: { trials }, new: { trials } }));
  const cases = [...kept, { case_id: 'gone', baseline: { trials }, new: { trials: [] } }];
  const gate = { mode: 'balanced', missing_max_ratio: 0.05, tolerances: {} } as const;
  const input = { cases, sides: { baseline: {}, new: {} } };
  expect(decideComparison(gate, input).decision.cause).toBe('removed');
  expect(decideComparison({ ...gate, allow_removed: true }, input).decision.cause).toBe('not_worse');
});

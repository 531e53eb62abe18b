import { describe, expect, test } from 'vitest';
import { comparison } from '../../src/contracts/comparison/index.ts';
import { baseline as baselineContract } from '../../src/contracts/baseline/index.ts';
import { acceptedFrom, sideFromAccepted } from '../../src/judge/baseline.ts';
import { gateOf } from '../../src/judge/gate.ts';
import type { JudgedCase, Side } from '../../src/judge/compare-input.ts';
import { judged } from '../support.ts';
import { answer, compared, failedCase, hashOf, judgedCase, side, trial } from './sides.ts';

const many = (count: number, make: (id: string, index: number) => JudgedCase): JudgedCase[] =>
  Array.from({ length: count }, (_, index) => make(`case-${index}`, index));

const passing = (count: number): JudgedCase[] => many(count, id => judgedCase(id));

const broken = (count: number, first: number): JudgedCase[] =>
  many(count, (id, index) => (index < first ? failedCase(id) : judgedCase(id)));

const statistical = gateOf({ mode: 'statistical' });

describe('the strict gate', () => {
  test('passes what did not get worse', () => {
    const { verdict, exit_code, reason } = compared(side('baseline', passing(10)), side('new', passing(10)));
    expect({ verdict, exit_code, reason }).toEqual({
      verdict: 'no_regression',
      exit_code: 0,
      reason: 'None of 10 cases regressed.',
    });
  });

  test('fails for one case that got worse', () => {
    const { verdict, exit_code, reason } = compared(side('baseline', passing(10)), side('new', broken(10, 1)));
    expect({ verdict, exit_code, reason }).toEqual({
      verdict: 'regression',
      exit_code: 1,
      reason: '1 of 10 cases regressed.',
    });
  });

  test('does not fail for a case that failed before, nor for one that is flaky', () => {
    const { verdict, summary } = compared(
      side('baseline', broken(10, 1), broken(10, 1)),
      side('new', broken(10, 1), broken(10, 2)),
    );
    expect(verdict).toBe('no_regression');
    expect(summary).toEqual({ cases: 10, regressed: 0, improved: 0, same: 9, flaky: 1, missing: 0 });
  });

  test('says no regression of five missing in a hundred, and not of six', () => {
    const without = (count: number): JudgedCase[] => passing(100).slice(count);
    expect(compared(side('baseline', passing(100)), side('new', without(5))).verdict).toBe('no_regression');
    const { verdict, exit_code, reason } = compared(side('baseline', passing(100)), side('new', without(6)));
    expect({ verdict, exit_code }).toEqual({ verdict: 'not_enough_evidence', exit_code: 3 });
    expect(reason).toBe('6 of 100 cases are missing on one side, and at most 5 % may be.');
  });

  test('does not let what is missing hide what got worse', () => {
    const { verdict } = compared(side('baseline', passing(100)), side('new', broken(50, 1)));
    expect(verdict).toBe('regression');
  });

  test('asks for a baseline where there is none, with the command that makes one', () => {
    const { verdict, exit_code, reason, summary } = compared(side('baseline'), side('new', passing(3)));
    expect({ verdict, exit_code }).toEqual({ verdict: 'not_enough_evidence', exit_code: 3 });
    expect(reason).toContain('--as baseline');
    expect(summary.missing).toBe(3);
  });
});

describe('the statistical gate', () => {
  test('passes five one-way breaks in a hundred as too few, and says how many trials would tell', () => {
    const { verdict, exit_code, reason, statistics } = compared(
      side('baseline', passing(100)),
      side('new', broken(100, 5)),
      statistical,
    );
    expect({ verdict, exit_code }).toEqual({ verdict: 'not_enough_evidence', exit_code: 3 });
    expect(reason).toBe(
      '5 of 100 cases regressed. 5 trials passed before and fail now, and 0 the other way round, too few to tell from chance. About 1 more repetition of the suite would tell. The strict gate would stop here.',
    );
    expect(statistics).toMatchObject({ mcnemar: { broke: 5, mended: 0, p_value: 0.0625 }, more_trials: 1 });
  });

  test('fails for six', () => {
    const { verdict, reason } = compared(side('baseline', passing(100)), side('new', broken(100, 6)), statistical);
    expect(verdict).toBe('regression');
    expect(reason).toBe(
      '6 of 100 cases regressed: 6 trials passed before and fail now, and 0 the other way round, which is hardly chance (p = 0.03125).',
    );
  });

  test('takes every repetition as a trial', () => {
    const { verdict } = compared(
      side('baseline', passing(50), passing(50), passing(50)),
      side('new', broken(50, 2), broken(50, 2), broken(50, 2)),
      statistical,
    );
    expect(verdict).toBe('regression');
  });

  test('says so where no more got worse than better', () => {
    const before = many(30, (id, index) => (index < 20 ? failedCase(id) : judgedCase(id)));
    const now = many(30, (id, index) => (index === 29 ? failedCase(id) : judgedCase(id)));
    const { exit_code, reason } = compared(side('baseline', before), side('new', now), statistical);
    expect(exit_code).toBe(0);
    expect(reason).toBe(
      '1 of 30 cases regressed; 20 improved. No more got worse than better: 1 trial passed before and fails now, and 20 the other way round. The strict gate would stop here.',
    );
  });

  test('speaks of flaky cases without calling them regressed', () => {
    const now = side('new', broken(20, 3), passing(20));
    const { exit_code, reason } = compared(side('baseline', passing(20), passing(20)), now, statistical);
    expect(exit_code).toBe(3);
    expect(reason).toMatch(/^None of 20 cases regressed, but 3 trials passed before and fail now, .* too few to tell/);
    expect(reason).not.toContain('strict');
  });

  test('passes noise that goes both ways', () => {
    const before = many(100, (id, index) => (index < 9 ? failedCase(id) : judgedCase(id)));
    const now = many(100, (id, index) => (index >= 9 && index < 20 ? failedCase(id) : judgedCase(id)));
    const { verdict, statistics, reason } = compared(side('baseline', before), side('new', now), statistical);
    expect(statistics.mcnemar).toMatchObject({ broke: 11, mended: 9 });
    expect(verdict).toBe('no_regression');
    expect(reason).toBe(
      '11 of 100 cases regressed; 9 improved. This could be chance: 11 trials passed before and fail now, and 9 the other way round (p = 0.8238, and the gate closes below 0.05). The strict gate would stop here.',
    );
  });
});

describe('tolerances', () => {
  const metrics = (latency_ms: number, cost_usd: number | null, score: number | null): JudgedCase['metrics'] => ({
    latency_ms,
    cost_usd,
    score,
    attempts: 1,
    tokens: null,
    steps: 0,
  });
  const measuring = (latency: number, cost: number | null, score: number): JudgedCase[] =>
    many(20, id => judgedCase(id, { metrics: metrics(latency, cost, score) }));
  const before = side('baseline', measuring(100, 0.01, 1));

  test('that are breached are regressions, each by its name', () => {
    const gate = gateOf({
      tolerances: {
        latency_ms: { statistic: 'p95', max_increase_ratio: 0.2 },
        cost_usd: { statistic: 'mean', max_increase: 0.001 },
        score: { max_decrease: 0.05 },
      },
    });
    const { verdict, gate: found, reason } = compared(before, side('new', measuring(121, 0.012, 0.9)), gate);
    expect(verdict).toBe('regression');
    expect(reason).toBe('3 limits of the gate were breached.');
    expect(found.breaches.map(({ metric, message }) => [metric, message])).toEqual([
      ['latency_ms', 'p95 of latency_ms is 121, and at most 120 is allowed.'],
      ['cost_usd', 'mean of cost_usd is 0.012, and at most 0.011 is allowed.'],
      ['score', 'The mean score is 0.9, and at least 0.95 is asked for.'],
    ]);
  });

  test('are kept by what is just within them', () => {
    const gate = gateOf({
      tolerances: { latency_ms: { statistic: 'mean', max_increase: 20 }, score: { max_decrease: 0.5 } },
    });
    expect(compared(before, side('new', measuring(120, 0.5, 0.5)), gate).verdict).toBe('no_regression');
  });

  test('of two limits hold the tighter one', () => {
    const gate = gateOf({
      tolerances: { latency_ms: { statistic: 'mean', max_increase: 500, max_increase_ratio: 0.1 } },
    });
    expect(compared(before, side('new', measuring(120, 0.01, 1)), gate).verdict).toBe('regression');
  });

  test('of something that nobody measured are not enough evidence', () => {
    const gate = gateOf({ tolerances: { cost_usd: { statistic: 'mean', max_increase: 1 } } });
    const { verdict, reason } = compared(before, side('new', measuring(100, null, 1)), gate);
    expect(verdict).toBe('not_enough_evidence');
    expect(reason).toBe('The gate bounds cost_usd, and no case tells it on both sides.');
  });

  test('of something that nobody measured are told whatever else was found', () => {
    const gate = gateOf({
      tolerances: {
        latency_ms: { statistic: 'mean', max_increase: 1 },
        cost_usd: { statistic: 'mean', max_increase: 1 },
        score: { max_decrease: 0.1 },
      },
    });
    const unscored = (latency: number): JudgedCase[] =>
      many(20, id => judgedCase(id, { metrics: metrics(latency, null, null) }));
    const { verdict, reason } = compared(side('baseline', unscored(100)), side('new', unscored(200)), gate);
    expect(verdict).toBe('regression');
    expect(reason).toBe(
      '1 limit of the gate was breached. The gate bounds cost_usd and score, and no case tells them on both sides.',
    );
  });

  test('of a baseline of zero are breached by anything more', () => {
    const gate = gateOf({ tolerances: { cost_usd: { statistic: 'mean', max_increase_ratio: 0.5 } } });
    const free = side('baseline', measuring(100, 0, 1));
    expect(compared(free, side('new', measuring(100, 0.01, 1)), gate).gate.breaches).toHaveLength(1);
  });
});

describe('two sides are', () => {
  const before = side('baseline', passing(10));
  const withTrial = (cases: readonly JudgedCase[], over: Parameters<typeof trial>[2]): Side => ({
    source: 'runs',
    trials: [trial('new_1', cases, over)],
  });

  test('comparable where only the target differs', () => {
    const { comparability } = compared(before, withTrial(passing(10), { targetSha256: hashOf('another') }));
    expect(comparability).toEqual({ state: 'comparable', fields: [] });
  });

  test('comparable with drift where anything else differs, and the fields are named', () => {
    const { comparability, verdict } = compared(
      before,
      withTrial(passing(10), {
        environmentHash: hashOf('there'),
        casesSha256: hashOf('others'),
        conditions: { 'target.kind': 'script', 'settings.retries': '0', 'policy.sandbox.backend': 'process' },
      }),
    );
    expect(comparability.state).toBe('drift');
    expect(comparability.fields).toEqual([
      { field: 'environment_hash', baseline: hashOf('here'), new: hashOf('there') },
      { field: 'cases_sha256', baseline: hashOf('cases'), new: hashOf('others') },
      { field: 'policy.sandbox.backend', baseline: null, new: 'process' },
      { field: 'settings.retries', baseline: '2', new: '0' },
      { field: 'target.kind', baseline: 'http', new: 'script' },
    ]);
    expect(verdict).toBe('no_regression');
  });

  test('not comparable without a seal, whatever else they show', () => {
    const { comparability, verdict, reason } = compared(before, withTrial(broken(10, 3), { sealSha256: undefined }));
    expect(comparability.state).toBe('not_comparable');
    expect(verdict).toBe('not_enough_evidence');
    expect(reason).toContain('has no seal');
  });

  test('not comparable without a case in common', () => {
    const { comparability, reason } = compared(before, withTrial([judgedCase('other')], {}));
    expect(comparability.state).toBe('not_comparable');
    expect(reason).toBe('The two sides have no case in common.');
  });

  test('not comparable where more than half of the cases are other cases now', () => {
    const changed = (count: number): JudgedCase[] =>
      many(10, (id, index) => judgedCase(id, index < count ? { case_sha256: hashOf(`${id} again`) } : {}));
    expect(compared(before, withTrial(changed(5), {})).verdict).toBe('no_regression');
    expect(compared(before, withTrial(changed(6), {})).verdict).toBe('not_enough_evidence');
  });
});

test('every comparison keeps its contract', async () => {
  const mixed = many(40, (id, index) => {
    if (index % 7 === 0) return failedCase(id);
    if (index % 11 === 0) return judgedCase(id, { verdict: 'error', error_class: 'timeout' });
    return judgedCase(id, index % 13 === 0 ? { verdict: 'error', error_class: 'network_error' } : {});
  });
  const sides: [Side, Side][] = [
    [side('baseline', passing(40)), side('new', mixed)],
    [side('baseline', mixed, passing(40)), side('new', passing(40), mixed, mixed)],
    [side('baseline'), side('new', mixed)],
    [side('baseline', [judgedCase('x')]), side('new', mixed)],
    [side('baseline', passing(3)), { source: 'runs', trials: [trial('new_1', mixed, { sealSha256: undefined })] }],
  ];
  for (const [before, now] of sides) {
    for (const mode of ['strict', 'statistical'] as const) {
      const gate = gateOf({ mode, tolerances: { latency_ms: { statistic: 'mean', max_increase: 1 } } });
      const document = compared(before, now, gate, { artifactOf: () => answer() });
      const { violations, advice } = await judged(comparison, document, { strict: true });
      expect({ violations, advice }).toEqual({ violations: [], advice: [] });
    }
  }
});

describe('an accepted baseline', () => {
  const runs = side('baseline', broken(10, 2), [...passing(9), judgedCase('constructor')]);

  test('keeps its contract, and is small', async () => {
    const document = acceptedFrom(runs, '2026-01-06T12:30:00.000Z');
    expect((await judged(baselineContract, document, { strict: true })).violations).toEqual([]);
    expect(document.cases['case-9']?.trials.map(({ error_class }) => error_class)).toEqual([null, 'missing']);
    expect(JSON.stringify(document).length).toBeLessThan(11 * 500);
  });

  test('takes the place of its runs', () => {
    const now = side('new', broken(10, 3), broken(10, 3));
    const accepted = sideFromAccepted(acceptedFrom(runs, '2026-01-06T12:30:00.000Z'));
    const { sides, ...byRuns } = compared(runs, now);
    const { sides: acceptedSides, ...byDocument } = compared(accepted, now);
    expect(byDocument).toEqual(byRuns);
    expect(acceptedSides).toEqual({ ...sides, baseline: { ...sides.baseline, source: 'accepted' } });
  });

  test('leaves of a cause what hashes tell, with low confidence', () => {
    const before = side('baseline', [judgedCase('c', { output_hash: 'one' })]);
    const accepted = sideFromAccepted(acceptedFrom(before, '2026-01-06T12:30:00.000Z'));
    const now = side('new', [failedCase('c', 'contains', { output_hash: 'two' })]);
    const { cases } = compared(accepted, now, undefined, {
      artifactOf: ({ runId }) => (runId === 'new_1' ? answer() : undefined),
    });
    expect(cases[0]?.divergence).toMatchObject({ kind: 'output', confidence: 'low', cites: ['new:final_output'] });
  });

  test('is not made of a run without a seal, nor of nothing', () => {
    const open: Side = { source: 'runs', trials: [trial('r', passing(1), { sealSha256: undefined })] };
    expect(() => acceptedFrom(open, '2026-01-06T12:30:00.000Z')).toThrow('without a seal');
    expect(() => acceptedFrom(side('r'), '2026-01-06T12:30:00.000Z')).toThrow('no run to accept');
  });
});

test('artifacts are read only of cases that fail, one pair at a time', () => {
  const read: string[] = [];
  compared(side('baseline', passing(100)), side('new', broken(100, 2)), undefined, {
    artifactOf: ({ runId }, caseId) => {
      read.push(`${runId} ${caseId}`);
      return answer();
    },
  });
  expect(read).toEqual(['baseline_1 case-0', 'new_1 case-0', 'baseline_1 case-1', 'new_1 case-1']);
});

test('the time of a comparison grows with its cases, and not faster', () => {
  const timeOf = (count: number): number => {
    const before = side('baseline', passing(count));
    const now = side(
      'new',
      many(count, (id, index) => (index % 10 === 0 ? failedCase(id) : judgedCase(id))),
    );
    const times = [1, 2, 3].map(() => {
      // Of this process alone: other work on the machine must not count.
      const started = process.cpuUsage();
      compared(before, now, undefined, { artifactOf: () => answer() });
      const { user, system } = process.cpuUsage(started);
      return user + system;
    });
    return Math.min(...times);
  };
  timeOf(1_000);
  // Sixteen times as much: linear is 16, quadratic 256.
  expect(timeOf(40_000) / timeOf(2_500)).toBeLessThan(80);
});

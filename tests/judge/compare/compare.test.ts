import { describe, expect, test } from 'vitest';
import { comparison, type Comparison } from '../../../src/contracts/comparison/index.ts';
import { baseline as baselineContract } from '../../../src/contracts/baseline/index.ts';
import { acceptedFrom, sideFromAccepted } from '../../../src/judge/compare/baseline.ts';
import { gateOf } from '../../../src/judge/compare/gate.ts';
import type { CaseReader, JudgedCase, Side } from '../../../src/judge/compare-input.ts';
import { judged } from '../../support/support.ts';
import { answer, compared, failedCase, hashOf, judgedCase, side, trial } from './sides.ts';

const many = (count: number, make: (id: string, index: number) => JudgedCase): JudgedCase[] =>
  Array.from({ length: count }, (_, index) => make(`case-${index}`, index));

const passing = (count: number): JudgedCase[] => many(count, id => judgedCase(id));

const broken = (count: number, first: number): JudgedCase[] =>
  many(count, (id, index) => (index < first ? failedCase(id) : judgedCase(id)));

const turned = (count: number, first: number, runs: number): JudgedCase[][] =>
  Array.from({ length: runs }, () => broken(count, first));

const repeated = (cases: JudgedCase[], runs: number): JudgedCase[][] => Array.from({ length: runs }, () => cases);

const end = ({ verdict, exit_code, decision }: Comparison) => [verdict, exit_code, decision?.cause];

describe('the balanced gate', () => {
  test('passes a candidate that did not get worse, and states what it could not rule out', () => {
    const found = compared(side('baseline', passing(10)), side('new', passing(10)));
    expect(end(found)).toEqual(['no_regression', 0, 'not_worse']);
    expect(found.reason).toBe('Nothing got worse. A drop of up to 25.9 points cannot be ruled out with these trials.');
    expect(found.decision).toMatchObject({
      cases: 10,
      drop: 0,
      p: 1,
      rates: { baseline: { rate: 1, high: 1 }, new: { rate: 1 } },
      broken: [],
      suspects: [],
      removed: [],
    });
  });

  test('does not call one failed trial of one case a regression, but names the case', () => {
    const found = compared(side('baseline', passing(10)), side('new', broken(10, 1)));
    expect(end(found)).toEqual(['not_enough_evidence', 3, 'suspect']);
    expect(found.reason).toBe(
      '1 of 10 cases looks broken, and could still be chance: “case-0” (1/1 → 0/1). Ask it again on both sides, up to 5 times.',
    );
  });

  test('calls a case broken if all five trials changed to failing', () => {
    const found = compared(side('baseline', ...repeated(passing(10), 5)), side('new', ...turned(10, 1, 5)));
    expect(end(found)).toEqual(['regression', 1, 'broken']);
    expect(found.reason).toBe('1 of 10 cases broke, beyond chance: “case-0” (5/5 → 0/5).');
    expect(found.decision?.broken).toEqual([
      { case_id: 'case-0', baseline: { passes: 5, trials: 5 }, new: { passes: 0, trials: 5 }, p: expect.any(Number) },
    ]);
  });

  test('finds a regression if ten cases that always passed now pass one trial in three', () => {
    const found = compared(
      side('baseline', ...repeated(passing(10), 3)),
      side('new', passing(10), broken(10, 10), broken(10, 10)),
    );
    expect(end(found).slice(0, 2)).toEqual(['regression', 1]);
  });

  test('does not offset a broken case by an improved one', () => {
    const before = many(10, (id, index) => (index === 9 ? failedCase(id) : judgedCase(id)));
    const found = compared(side('baseline', ...repeated(before, 5)), side('new', ...turned(10, 1, 5)));
    expect(end(found)).toEqual(['regression', 1, 'broken']);
  });

  test('says how many more trials would settle an unproven drop', () => {
    const now = side('new', broken(30, 2), passing(30), passing(30));
    const found = compared(side('baseline', ...repeated(passing(30), 3)), now);
    expect(end(found)).toEqual(['not_enough_evidence', 3, 'unsettled']);
    expect(found.reason).toMatch(/About \d+ more trials? of every case on both sides would settle it/);
    expect(found.statistics.more_trials).toBeGreaterThan(0);
  });

  test('tolerates five unanswered cases in a hundred, but not six', () => {
    const unanswered = (count: number): JudgedCase[] =>
      many(100, (id, index) =>
        index < count ? judgedCase(id, { verdict: 'error', error_class: 'missing' }) : judgedCase(id),
      );
    expect(compared(side('baseline', passing(100)), side('new', unanswered(5))).verdict).toBe('no_regression');
    const found = compared(side('baseline', passing(100)), side('new', unanswered(6)));
    expect(end(found)).toEqual(['not_enough_evidence', 3, 'missing']);
    expect(found.reason).toContain('6 of 100 cases are missing on one side, and at most 5 % may be');
  });

  test('does not let missing cases hide broken ones', () => {
    const found = compared(side('baseline', ...repeated(passing(100), 5)), side('new', ...turned(50, 9, 5)));
    expect(end(found)).toEqual(['regression', 1, 'broken']);
  });

  test('asks for a baseline if there is none, with the command that makes one', () => {
    const { verdict, exit_code, reason, summary } = compared(side('baseline'), side('new', passing(3)));
    expect({ verdict, exit_code }).toEqual({ verdict: 'not_enough_evidence', exit_code: 3 });
    expect(reason).toContain('--as baseline');
    expect(summary.missing).toBe(3);
  });
});

const UNSCORED: JudgedCase['metrics'] = {
  latency_ms: 100,
  attempts: 1,
  cost_usd: null,
  tokens: null,
  steps: 0,
  score: null,
};

describe('the gate does not pass', () => {
  const again = (cases: JudgedCase[]): JudgedCase[][] => repeated(cases, 3);

  test('a removed case, unless that is allowed', () => {
    const before = side('baseline', ...again(passing(40)));
    const now = side('new', ...again(passing(40).slice(1)));
    const found = compared(before, now);
    expect(end(found)).toEqual(['not_enough_evidence', 3, 'removed']);
    expect(found.reason).toBe(
      'A case of the baseline is no longer in the suite: “case-0”. --allow-removed accepts this.',
    );
    const allowed = compared(before, now, gateOf({ allow_removed: true }));
    expect(end(allowed).slice(0, 2)).toEqual(['no_regression', 0]);
    expect(allowed.gate.allow_removed).toBe(true);
  });

  test('two sides on which everything fails', () => {
    const found = compared(side('baseline', broken(5, 5)), side('new', broken(5, 5)));
    expect(end(found)).toEqual(['not_enough_evidence', 3, 'all_failing']);
    expect(found.reason).toBe('All 5 cases fail on both sides, so nothing could get worse.');
  });

  test('a suite without expectations', () => {
    const bare = many(5, id => judgedCase(id, { assertions: [], metrics: UNSCORED }));
    const found = compared(side('baseline', bare), side('new', bare));
    expect(end(found)).toEqual(['not_enough_evidence', 3, 'no_expectations']);
    expect(found.reason).toBe('No case has an expectation that can be judged, so nothing was judged.');
  });

  test('an input that the agent never answers', () => {
    const dropping = many(21, (id, index) =>
      index === 3 ? judgedCase(id, { verdict: 'error', error_class: 'network_error' }) : judgedCase(id),
    );
    const found = compared(side('baseline', ...again(passing(21))), side('new', ...again(dropping)));
    expect(end(found)).toEqual(['not_enough_evidence', 3, 'suspect']);
    expect(found.reason).toContain('“case-3” (3/3 → 0/3)');
  });

  test('sides whose answers are mostly unreadable', () => {
    const garbled = many(11, (id, index) =>
      index < 10 ? judgedCase(id, { verdict: 'error', error_class: 'schema_mismatch' }) : judgedCase(id),
    );
    const found = compared(side('baseline', garbled), side('new', garbled));
    expect(end(found)).toEqual(['not_enough_evidence', 3, 'unreadable']);
    expect(found.reason).toContain('Most trials of the baseline gave no answer that can be read');
  });

  test('a candidate whose answers are mostly unreadable, even if the baseline fails as often', () => {
    const failing = broken(11, 10);
    const garbled = many(11, (id, index) =>
      index < 10 ? judgedCase(id, { verdict: 'error', error_class: 'http_error' }) : judgedCase(id),
    );
    expect(end(compared(side('baseline', failing), side('new', garbled)))).toEqual([
      'not_enough_evidence',
      3,
      'unreadable',
    ]);
  });

  test('any number of cases without judged expectations, because they are not trials', () => {
    const mostly = many(100, (id, index) => judgedCase(id, index > 0 ? { assertions: [], metrics: UNSCORED } : {}));
    const found = compared(side('baseline', mostly), side('new', mostly), gateOf({ mode: 'proven' }));
    expect([found.exit_code, found.decision?.cases]).toEqual([3, 1]);
    const failing = [...broken(20, 20), judgedCase('smoke', { assertions: [], metrics: UNSCORED })];
    expect(end(compared(side('baseline', failing), side('new', failing)))[2]).toBe('all_failing');
  });

  test('cases that all fail, next to one that only the candidate has', () => {
    const found = compared(side('baseline', broken(20, 20)), side('new', [...broken(20, 20), judgedCase('added')]));
    expect(end(found)[2]).toBe('all_failing');
  });

  test('a critical case that does not exist', () => {
    const found = compared(side('baseline', passing(30)), side('new', passing(30)), gateOf({ critical: ['case-300'] }));
    expect(end(found)).toEqual(['not_enough_evidence', 3, 'missing']);
    expect(found.reason).toBe('A critical case is missing on both sides: “case-300”.');
  });

  test('a case that is cut off in two of three trials', () => {
    const cut = judgedCase('case-3', { verdict: 'error', error_class: 'network_error' });
    const dropping = many(21, (id, index) => (index === 3 ? cut : judgedCase(id)));
    const found = compared(side('baseline', ...again(passing(21))), side('new', dropping, dropping, passing(21)));
    expect(found.exit_code).toBe(3);
  });

  test('an input that the agent never answered, and answers wrongly when rerun', () => {
    const dropping = many(21, (id, index) =>
      index === 3 ? judgedCase(id, { verdict: 'error', error_class: 'network_error' }) : judgedCase(id),
    );
    const rerun = trial('new.a1', [failedCase('case-3')], { isRerun: true });
    const now = side('new', ...again(dropping));
    const found = compared(side('baseline', ...again(passing(21))), { ...now, trials: [...now.trials, rerun] });
    expect(end(found).slice(0, 2)).not.toEqual(['no_regression', 0]);
    expect([...(found.decision?.suspects ?? []), ...(found.decision?.broken ?? [])]).toMatchObject([
      { case_id: 'case-3', new: { passes: 0, trials: 4 } },
    ]);
  });

  test('a target that is down', () => {
    const down = many(10, id => judgedCase(id, { verdict: 'error', error_class: 'network_error' }));
    expect(end(compared(side('baseline', passing(10)), side('new', down))).slice(0, 2)).toEqual([
      'not_enough_evidence',
      3,
    ]);
  });
});

describe('byte-identical answers', () => {
  const same = (count: number): JudgedCase[] => many(count, id => judgedCase(id, { answer_hash: hashOf(id) }));
  const proven = gateOf({ mode: 'proven' });

  test('prove immediately that nothing got worse', () => {
    const found = compared(side('baseline', same(5)), side('new', same(5)), proven);
    expect(end(found)).toEqual(['no_regression', 0, 'identical']);
    expect(found.reason).toBe('Both sides gave the same answers in every case.');
    expect(end(compared(side('baseline', passing(5)), side('new', passing(5)), proven))[1]).toBe(3);
  });

  test('prove nothing if a single answer differs or has no known hash', () => {
    const [first, ...others] = same(5);
    for (const answer_hash of [hashOf('other'), undefined]) {
      const now = [{ ...(first as JudgedCase), answer_hash }, ...others];
      expect(end(compared(side('baseline', same(5)), side('new', now), proven))[2]).toBe('unsettled');
    }
  });

  test('prove nothing if their verdicts differ, for example because of time, or if the question changed', () => {
    const slow = many(10, (id, index) =>
      index === 0
        ? failedCase(id, 'max_latency_ms', { answer_hash: hashOf(id) })
        : judgedCase(id, { answer_hash: hashOf(id) }),
    );
    const timed = compared(side('baseline', ...repeated(same(10), 3)), side('new', same(10), same(10), slow));
    expect(timed.exit_code).toBe(3);
    const other = many(10, (id, index) =>
      judgedCase(id, { answer_hash: hashOf(id), ...(index < 4 && { case_sha256: hashOf(`${id} made easy`) }) }),
    );
    expect(end(compared(side('baseline', same(10)), side('new', other), proven))[2]).not.toBe('identical');
  });

  test('prove nothing if they come from a recording, and count once', () => {
    const replayed = (name: string): Side => ({
      source: 'runs',
      trials: [1, 2, 3].map(number =>
        trial(`${name}_${number}`, same(30), { conditions: { 'settings.model_mode': 'replay' } }),
      ),
    });
    const found = compared(replayed('baseline'), replayed('new'), proven);
    expect(end(found)).toEqual(['not_enough_evidence', 3, 'unsettled']);
    const fresh = compared(side('baseline', passing(30)), side('new', passing(30)), proven);
    expect(found.decision?.high).toBe(fresh.decision?.high);
  });

  test('do not hide that everything fails', () => {
    const failing = many(3, id => failedCase(id, 'contains', { answer_hash: hashOf(id) }));
    expect(end(compared(side('baseline', failing), side('new', failing), proven))[2]).toBe('all_failing');
  });
});

describe('reruns', () => {
  const rerun = (name: string, number: number, cases: JudgedCase[]) =>
    trial(`${name}.a${number}`, cases, { isRerun: true });
  const withReruns = (name: string, planned: JudgedCase[], reruns: JudgedCase[][]): Side => ({
    source: 'runs',
    trials: [trial(name, planned), ...reruns.map((cases, index) => rerun(name, index + 1, cases))],
  });

  test('confirm a case that keeps failing, without changing the mean of the suite', () => {
    const before = withReruns('baseline', passing(10), repeated([judgedCase('case-0')], 5));
    const now = withReruns('new', broken(10, 1), repeated([failedCase('case-0')], 5));
    const found = compared(before, now);
    expect(end(found)).toEqual(['regression', 1, 'broken']);
    expect(found.reason).toContain('“case-0” (6/6 → 0/6)');
    expect(found.decision?.drop).toBe(0.1);
    expect(found.cases.map(one => one.new.trials.length)).toEqual([6, ...Array.from({ length: 9 }, () => 1)]);
  });

  test('clear a case that failed once by chance', () => {
    const before = withReruns('baseline', passing(100), [[judgedCase('case-0')]]);
    const now = withReruns('new', broken(100, 1), [[judgedCase('case-0')]]);
    const found = compared(before, now);
    expect(found.decision?.suspects).toEqual([]);
    expect(found.decision?.cause).not.toBe('suspect');
  });
});

describe('the proven gate', () => {
  test('reports no regression only if a drop beyond the margin is ruled out', () => {
    const proven = gateOf({ mode: 'proven' });
    const sides = (cases: number, runs: number) =>
      [side('baseline', ...repeated(passing(cases), runs)), side('new', ...repeated(passing(cases), runs))] as const;
    expect(end(compared(...sides(30, 1), proven))).toEqual(['not_enough_evidence', 3, 'unsettled']);
    const found = compared(...sides(30, 4), proven);
    expect(end(found)).toEqual(['no_regression', 0, 'safe']);
    expect(found.reason).toMatch(/^With 95 % confidence these cases pass at most [\d.]+ points less often/);
  });
});

describe('the strict gate', () => {
  const strict = gateOf({ mode: 'strict' });

  test('fails for one case that always passed in the baseline and never passes in the candidate', () => {
    const found = compared(side('baseline', passing(10)), side('new', broken(10, 1)), strict);
    expect(end(found)).toEqual(['regression', 1, 'broken']);
    expect(found.reason).toBe('1 of 10 cases always passed before and never passes now: “case-0” (1/1 → 0/1).');
  });

  test('does not fail for a case that failed in the baseline, or for a flaky one', () => {
    const found = compared(
      side('baseline', broken(10, 1), broken(10, 1)),
      side('new', broken(10, 1), broken(10, 2)),
      strict,
    );
    expect(end(found)).toEqual(['no_regression', 0, 'not_worse']);
    expect(found.summary).toMatchObject({ cases: 10, regressed: 0, improved: 0, same: 9, flaky: 1, missing: 0 });
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

  test('that are exceeded are reported as regressions, each by name', () => {
    const gate = gateOf({
      tolerances: {
        latency_ms: { max_increase_ratio: 0.2 },
        cost_usd: { max_increase: 0.001 },
        score: { max_decrease: 0.05 },
      },
    });
    const { verdict, gate: found, reason } = compared(before, side('new', measuring(130, 0.012, 0.9)), gate);
    expect(verdict).toBe('regression');
    expect(found.breaches.map(({ metric, message }) => [metric, message])).toEqual([
      ['latency_ms', 'Latency is 30 % higher than before; at most 20 % is allowed.'],
      ['cost_usd', 'Cost is $0.002 higher than before; at most $0.001 is allowed.'],
      ['score', 'The score is 0.1 lower than before; at most 0.05 is allowed.'],
    ]);
    expect(reason).toBe(found.breaches.map(({ message }) => message).join(' '));
  });

  test('accept values just within them', () => {
    const gate = gateOf({ tolerances: { latency_ms: { max_increase: 20 }, score: { max_decrease: 0.5 } } });
    expect(compared(before, side('new', measuring(120, 0.5, 0.5)), gate).verdict).toBe('no_regression');
  });

  test('apply the tighter of two limits', () => {
    const gate = gateOf({ tolerances: { latency_ms: { max_increase: 500, max_increase_ratio: 0.1 } } });
    expect(compared(before, side('new', measuring(120, 0.01, 1)), gate).verdict).toBe('regression');
  });

  test('are not exceeded by chance: noise as large as the limit settles nothing', () => {
    const gate = gateOf({ tolerances: { latency_ms: { max_increase_ratio: 0.2 } } });
    const noisy = many(20, (id, index) => judgedCase(id, { metrics: metrics(index % 2 === 0 ? 300 : 55, null, 1) }));
    const { verdict, reason } = compared(before, side('new', noisy), gate);
    expect(verdict).toBe('not_enough_evidence');
    expect(reason).toMatch(
      /^Latency is [\d.]+ % higher than before, and up to [\d.]+ % cannot be ruled out; at most 20 % is allowed\.$/,
    );
  });

  test('of the 95th percentile test whether more trials are slow', () => {
    const gate = gateOf({ tolerances: { latency_ms: { statistic: 'p95', max_increase_ratio: 0.2 } } });
    const now = (slow: number): JudgedCase[] =>
      many(20, (id, index) => judgedCase(id, { metrics: metrics(index < slow ? 200 : 100, null, 1) }));
    const slower = compared(before, side('new', now(10)), gate);
    expect(slower.verdict).toBe('regression');
    expect(slower.reason).toBe(
      'Trials with latency above 1.2 × the baseline’s 95th percentile are 50 % more frequent than before; at most 5 % is allowed.',
    );
    expect(compared(before, side('new', now(0)), gate).verdict).toBe('no_regression');
  });

  test.each([
    [{ max_increase_ratio: 0.2 }, 'Median latency is 30 % higher than before; at most 20 % is allowed.'],
    [{ max_increase: 20 }, 'Median latency is 30 ms higher than before; at most 20 ms is allowed.'],
  ])('of the median are reported as median: %o', (limits, message) => {
    const gate = gateOf({ tolerances: { latency_ms: { statistic: 'p50', ...limits } } });
    const slower = compared(before, side('new', measuring(130, 0.01, 1)), gate);
    expect([slower.verdict, slower.reason]).toEqual(['regression', message]);
    expect(compared(before, side('new', measuring(110, 0.01, 1)), gate).verdict).toBe('no_regression');
  });

  test('on an unmeasured metric lack evidence', () => {
    const gate = gateOf({ tolerances: { cost_usd: { max_increase: 1 } } });
    const { verdict, reason } = compared(before, side('new', measuring(100, null, 1)), gate);
    expect(verdict).toBe('not_enough_evidence');
    expect(reason).toBe('The gate limits cost, but no case reports it on both sides; at least 6 are required.');
  });

  test('on an unmeasured metric are reported whatever else was found', () => {
    const gate = gateOf({
      tolerances: { latency_ms: { max_increase: 1 }, cost_usd: { max_increase: 1 }, score: { max_decrease: 0.1 } },
    });
    const unscored = (latency: number): JudgedCase[] =>
      many(20, id => judgedCase(id, { metrics: metrics(latency, null, null) }));
    const { verdict, reason } = compared(side('baseline', unscored(100)), side('new', unscored(200)), gate);
    expect(verdict).toBe('regression');
    expect(reason).toContain(
      'Latency is 100 ms higher than before; at most 1 ms is allowed. The gate limits cost, but no case',
    );
    expect(reason).toContain('The gate limits the score, but no case reports it');
  });

  test('have no ratio if the baseline cost nothing', () => {
    const gate = gateOf({ tolerances: { cost_usd: { max_increase_ratio: 0.5 } } });
    const free = side('baseline', measuring(100, 0, 1));
    expect(compared(free, side('new', measuring(100, 0.01, 1)), gate).verdict).toBe('not_enough_evidence');
    const bounded = gateOf({ tolerances: { cost_usd: { max_increase: 0.001 } } });
    expect(compared(free, side('new', measuring(100, 0.01, 1)), bounded).verdict).toBe('regression');
  });
});

describe('two sides', () => {
  const before = side('baseline', passing(10));
  const withTrial = (cases: readonly JudgedCase[], over: Parameters<typeof trial>[2]): Side => ({
    source: 'runs',
    trials: [trial('new_1', cases, over)],
  });

  test('are comparable if only the target differs', () => {
    const { comparability } = compared(before, withTrial(passing(10), { targetSha256: hashOf('another') }));
    expect(comparability).toEqual({ state: 'comparable', fields: [] });
  });

  test('are comparable with drift if anything else differs, and the fields are named', () => {
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

  test('are not comparable without a seal, whatever else they show', () => {
    const { comparability, verdict, reason } = compared(before, withTrial(broken(10, 3), { sealSha256: undefined }));
    expect(comparability.state).toBe('not_comparable');
    expect(verdict).toBe('not_enough_evidence');
    expect(reason).toContain('has no seal');
  });

  test('are not comparable without a case in common', () => {
    const { comparability, reason } = compared(before, withTrial([judgedCase('other')], {}));
    expect(comparability.state).toBe('not_comparable');
    expect(reason).toBe('The two sides have no case in common.');
  });

  test('are not comparable if more than half of the cases changed', () => {
    const changed = (count: number): JudgedCase[] =>
      many(10, (id, index) => judgedCase(id, index < count ? { case_sha256: hashOf(`${id} again`) } : {}));
    const caseOf: CaseReader = ({ runId: user }, id) => ({ schema_version: 'suite-case.v1', id, input: { user } });
    const verdictWith = (count: number): Comparison['verdict'] =>
      compared(before, withTrial(changed(count), {}), undefined, { caseOf }).verdict;
    expect(verdictWith(5)).toBe('no_regression');
    expect(verdictWith(6)).toBe('not_enough_evidence');
  });
});

test('every comparison is a valid document', async () => {
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
    for (const mode of ['balanced', 'proven', 'strict'] as const) {
      const gate = gateOf({ mode, tolerances: { latency_ms: { statistic: 'mean', max_increase: 1 } } });
      const document = compared(before, now, gate, { artifactOf: () => answer() });
      const { violations, advice } = await judged(comparison, document, { strict: true });
      expect({ violations, advice }).toEqual({ violations: [], advice: [] });
    }
  }
});

describe('an accepted baseline', () => {
  const runs = side('baseline', broken(10, 2), [...passing(9), judgedCase('constructor')]);

  test('is a valid, small document', async () => {
    const document = acceptedFrom(runs, '2026-01-06T12:30:00.000Z');
    expect((await judged(baselineContract, document, { strict: true })).violations).toEqual([]);
    expect(document.cases['case-9']?.trials.map(({ error_class }) => error_class)).toEqual([null, 'missing']);
    expect(JSON.stringify(document).length).toBeLessThan(11 * 500);
  });

  test('gives the same comparison as its runs', () => {
    const now = side('new', broken(10, 3), broken(10, 3));
    const accepted = sideFromAccepted(acceptedFrom(runs, '2026-01-06T12:30:00.000Z'));
    const { sides, ...byRuns } = compared(runs, now);
    const { sides: acceptedSides, ...byDocument } = compared(accepted, now);
    expect(byDocument).toEqual(byRuns);
    expect(acceptedSides).toEqual({ ...sides, baseline: { ...sides.baseline, source: 'accepted' } });
  });

  test('gives causes only low confidence, because it keeps only hashes', () => {
    const before = side('baseline', [judgedCase('c', { output_hash: 'one' })]);
    const accepted = sideFromAccepted(acceptedFrom(before, '2026-01-06T12:30:00.000Z'));
    const now = side('new', [failedCase('c', 'contains', { output_hash: 'two' })]);
    const { cases } = compared(accepted, now, undefined, {
      artifactOf: ({ runId }) => (runId === 'new_1' ? answer() : undefined),
    });
    expect(cases[0]?.divergence).toMatchObject({ kind: 'output', confidence: 'low', cites: ['new:final_output'] });
  });

  test('rejects runs without a seal, and an empty side', () => {
    const open: Side = { source: 'runs', trials: [trial('r', passing(1), { sealSha256: undefined })] };
    expect(() => acceptedFrom(open, '2026-01-06T12:30:00.000Z')).toThrow('without a seal');
    expect(() => acceptedFrom(side('r'), '2026-01-06T12:30:00.000Z')).toThrow('no run to accept');
  });
});

test('reads artifacts only for failing cases, one pair at a time', () => {
  const read: string[] = [];
  compared(side('baseline', passing(100)), side('new', broken(100, 2)), undefined, {
    artifactOf: ({ runId }, caseId) => {
      read.push(`${runId} ${caseId}`);
      return answer();
    },
  });
  expect(read).toEqual(['baseline_1 case-0', 'new_1 case-0', 'baseline_1 case-1', 'new_1 case-1']);
});

test('reads each case a constant number of times, however many there are', () => {
  const readsOf = (count: number): number => {
    let reads = 0;
    const counted = (one: JudgedCase): JudgedCase =>
      new Proxy(one, {
        get(target, key) {
          reads++;
          return Reflect.get(target, key) as unknown;
        },
      });
    const before = many(count, id => counted(judgedCase(id)));
    const now = many(count, (id, index) => counted(index % 10 === 0 ? failedCase(id) : judgedCase(id)));
    compared(side('baseline', before), side('new', now), undefined, { artifactOf: () => answer() });
    return reads;
  };
  expect(readsOf(4_000) / readsOf(1_000)).toBeLessThan(5);
});

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { baseline } from '../../src/contracts/baseline/index.ts';
import { check } from '../../src/contracts/check.ts';
import { type Comparison, comparison } from '../../src/contracts/comparison/index.ts';
import { gate } from '../../src/contracts/gate/index.ts';
import { exampleWith, judged, judgedText, ROOT, rulesOf } from '../support.ts';

describe('a comparison whose words do not follow from its numbers', () => {
  const rows: [string, Record<string, unknown>, string[]][] = [
    ['says another exit code than its verdict has', { exit_code: 0 }, ['CM3']],
    ['says not enough evidence of a case that regressed', { verdict: 'not_enough_evidence', exit_code: 3 }, ['CM3']],
    ['says regression of sides that cannot be compared', { 'comparability.state': 'not_comparable' }, ['CM3']],
    ['decided in a way that is gone', { 'gate.mode': 'statistical' }, ['CM11']],
    ['has a cause that the trials do not have', { 'decision.cause': 'worse' }, ['CM11']],
    ['has a broken case of which nothing is broken', { 'decision.broken.0.new.passes': 1 }, ['CM11']],
    ['has a pass rate of its own', { 'decision.rates.new.rate': 0.9 }, ['CM11']],
    [
      'hides the removal of a case',
      {
        'cases.1.new.trials': [],
        'cases.1.change': 'missing',
        'cases.1.side_missing': 'new',
        'summary.same': 0,
        'summary.missing': 1,
      },
      ['CM11'],
    ],
    ['has no decision', { decision: undefined }, ['CM11']],
    ['has a reason that says something else', { reason: 'All is well; nothing got worse.' }, ['CM11']],
    ['asks for trials that nobody computed', { 'statistics.more_trials': 7 }, ['CM11']],
    ['hides that nothing was judged', { 'summary.without_expectations': 1 }, ['CM6']],
    ['calls a planned trial a rerun', { 'cases.1.new.trials.0.rerun': true }, ['CM9', 'CM11']],
    ['has the same run on both sides', { 'sides.new.seals': SEALS }, ['CM2']],
    ['has a breach that no metric shows', { 'gate.breaches': [BREACH] }, ['CM4']],
    ['has a tolerance that bounds nothing', { 'gate.tolerances.latency_ms': { statistic: 'p50' } }, ['CM4']],
    ['calls what drifted comparable', { 'comparability.state': 'comparable' }, ['CM5']],
    ['has drift of what is the same', { 'comparability.fields.0.new': '4' }, ['CM5']],
    ['has a run without a seal', { 'sides.new.seals': [] }, ['CM5']],
    ['counts a case that is not there', { 'summary.cases': 3 }, ['CM6']],
    ['has a mean outside of its interval', { 'statistics.metrics.0.difference.low': 200 }, ['CM7']],
    ['has a median above its 95th percentile', { 'statistics.metrics.0.new.p50': 9_999 }, ['CM7']],
    ['has more pairs than cases', { 'statistics.metrics.0.pairs': 3 }, ['CM7']],
    ['has a case of a name that is kept', { 'cases.1.case_id': 'evaluation' }, ['CM8']],
    ['calls a case that passed regressed', { 'cases.1.change': 'regressed' }, ['CM6', 'CM9']],
    ['has a trial of no run', { 'cases.0.new.trials.0.run_id': 'suite_9' }, ['CM9']],
    ['has an error class without an error', { 'cases.0.new.trials.0.error_class': 'timeout' }, ['CM9']],
    ['cites a place of no form', { 'cases.0.divergence.cites': ['somewhere'] }, ['CM10']],
    [
      'cites a field that is not there',
      { 'cases.0.divergence.cites': ['baseline:events[1]', 'new:events[1]', 'comparability.fields[1]'] },
      ['CM10'],
    ],
    ['fails in a case that passed', { 'cases.1.failing': [{ name: 'contains', message: null, at: null }] }, ['CM10']],
    ['says too much', { 'cases.0.divergence.says': 'x'.repeat(1_001) }, ['CM10']],
  ];
  test.each(rows)('%s is found', async (_, changes, rules) => {
    expect([...new Set(rulesOf(await judged(comparison, exampleWith(comparison, changes))))]).toEqual(rules);
  });
});

const SEALS = (comparison.example as Comparison).sides.baseline.seals;

const BREACH = { metric: 'latency_ms', limit: 0.2, measured: 0.3, message: 'Latency is 30 % higher than before.' };

describe('a comparison of an older version whose words do not follow from its numbers', () => {
  const older = JSON.parse(readFileSync(path.join(ROOT, 'tests/corpus/comparison/example.json'), 'utf8')) as unknown;
  const rows: [string, Record<string, unknown>, string[]][] = [
    ['says regression by a test that shows none', { 'gate.mode': 'statistical', 'gate.breaches': [] }, ['CM3']],
    ['has a breach of what is not bounded', { 'gate.tolerances': {} }, ['CM4']],
    ['has a breach within its limit', { 'gate.breaches.0.measured': 1_000 }, ['CM4']],
    ['counts breaks that no trial shows', { 'statistics.mcnemar.broke': 2 }, ['CM7']],
    ['has a probability above 1', { 'statistics.mcnemar.p_value': 1.5 }, ['CM7']],
  ];
  test.each(rows)('%s is found', async (_, changes, rules) => {
    const document = exampleWith({ ...comparison, example: older }, changes);
    expect([...new Set(rulesOf(await judged(comparison, document)))]).toEqual(rules);
  });
});

test('without a baseline, a comparison can only say that there is not enough evidence', () => {
  const none = {
    source: 'runs',
    run_ids: [],
    seals: [],
    trials: 0,
    environment_hash: null,
    target_sha256: null,
    cases_sha256: null,
  };
  const { violations } = check(comparison, exampleWith(comparison, { 'sides.baseline': none }), {
    strict: true,
    internal: false,
  });
  expect(rulesOf({ violations })).toContain('CM3');
});

describe('a baseline', () => {
  const trial = {
    verdict: 'pass',
    error_class: null,
    output_hash: null,
    latency_ms: null,
    cost_usd: null,
    score: null,
  };
  const case_sha256 = `sha256:${'0'.repeat(64)}`;
  /** Without its seal, which would not fit any change. */
  const { seal: _, ...bare } = baseline.example as Record<string, unknown>;
  const rows: [string, unknown, string[]][] = [
    ['with an unsafe id', { '../x': { case_sha256, trials: [trial] } }, ['BL4']],
    [
      'with ids that differ in case alone',
      { a: { case_sha256, trials: [trial] }, A: { case_sha256, trials: [trial] } },
      ['BL4'],
    ],
    ['with a score above 1', { a: { case_sha256, trials: [{ ...trial, score: 2 }] } }, ['BL4']],
    ['with a case that is none', { a: null }, ['BL4']],
    [
      'with an error class that belongs to no error',
      { a: { case_sha256, trials: [{ ...trial, error_class: 'timeout' }] } },
      ['BL4'],
    ],
    ['with a case called constructor', { constructor: { case_sha256, trials: [trial] } }, []],
  ];
  test.each(rows)('%s is judged', async (_, cases, rules) => {
    expect(rulesOf(await judged(baseline, { ...bare, cases }))).toEqual(rules);
  });

  test('with a key that names the prototype is refused and breaks nothing', async () => {
    const text = JSON.stringify(bare).replace('"refund-large":', '"__proto__":null,"refund-large":');
    expect(rulesOf(await judgedText(baseline, text))).toEqual(['BL4']);
  });

  test('with a key that nobody knows inside a case is refused where that is strict', async () => {
    const cases = { a: { case_sha256, trials: [trial], note: 'x' } };
    expect(rulesOf(await judged(baseline, { ...bare, cases }, { strict: true }))).toEqual(['BL4']);
  });
});

test('a gate may be as short as its version', async () => {
  expect((await judged(gate, { schema_version: 'gate.v1' }, { strict: true })).violations).toEqual([]);
});

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { baseline } from '../../src/contracts/baseline/index.ts';
import { check } from '../../src/contracts/check.ts';
import { type Comparison, comparison } from '../../src/contracts/comparison/index.ts';
import { gate } from '../../src/contracts/gate/index.ts';
import { exampleWith, judged, judgedText, ROOT, rulesOf } from '../support/support.ts';
import { titled } from './artifacts-words.ts';

describe('the comparison contract', () => {
  const rows: [string, Record<string, unknown>, string[]][] = [
    ['an exit code that does not match the verdict', { exit_code: 0 }, ['CM3']],
    ['not enough evidence although a case regressed', { verdict: 'not_enough_evidence', exit_code: 3 }, ['CM3']],
    ['a regression between sides that are not comparable', { 'comparability.state': 'not_comparable' }, ['CM3']],
    ['a decision in a mode that no longer exists', { 'gate.mode': 'statistical' }, ['CM11']],
    ['a cause that does not match the trials', { 'decision.cause': 'worse' }, ['CM11']],
    ['a broken case that passed', { 'decision.broken.0.new.passes': 1 }, ['CM11']],
    ['a pass rate that does not match the trials', { 'decision.rates.new.rate': 0.9 }, ['CM11']],
    [
      'a removed case that is not reported',
      {
        'cases.1.new.trials': [],
        'cases.1.change': 'missing',
        'cases.1.side_missing': 'new',
        'summary.same': 0,
        'summary.missing': 1,
      },
      ['CM11'],
    ],
    ['a missing decision', { decision: undefined }, ['CM11']],
    ['a reason that does not match the decision', { reason: 'All is well; nothing got worse.' }, ['CM11']],
    ['more_trials that do not match the trials', { 'statistics.more_trials': 7 }, ['CM11']],
    ['a wrong number of cases without expectations', { 'summary.without_expectations': 1 }, ['CM6']],
    ['a planned trial marked as a rerun', { 'cases.1.new.trials.0.rerun': true }, ['CM9', 'CM11']],
    ['the same run on both sides', { 'sides.new.seals': SEALS }, ['CM2']],
    ['a breach without a metric', { 'gate.breaches': [BREACH] }, ['CM4']],
    ['a tolerance without a limit', { 'gate.tolerances.latency_ms': { statistic: 'p50' } }, ['CM4']],
    ['comparable sides that drifted', { 'comparability.state': 'comparable' }, ['CM5']],
    ['drift in a field that is equal', { 'comparability.fields.0.new': '4' }, ['CM5']],
    ['a run without a seal', { 'sides.new.seals': [] }, ['CM5']],
    ['a wrong number of cases', { 'summary.cases': 3 }, ['CM6']],
    ['a mean outside its interval', { 'statistics.metrics.0.difference.low': 200 }, ['CM7']],
    ['a median above the 95th percentile', { 'statistics.metrics.0.new.p50': 9_999 }, ['CM7']],
    ['more pairs than cases', { 'statistics.metrics.0.pairs': 3 }, ['CM7']],
    ['a case with a reserved name', { 'cases.1.case_id': 'evaluation' }, ['CM8']],
    ['a passing case marked as regressed', { 'cases.1.change': 'regressed' }, ['CM6', 'CM9']],
    ['a trial of an unknown run', { 'cases.0.new.trials.0.run_id': 'suite_9' }, ['CM9']],
    ['an error class without an error', { 'cases.0.new.trials.0.error_class': 'timeout' }, ['CM9']],
    ['a malformed citation', { 'cases.0.divergence.cites': ['somewhere'] }, ['CM10']],
    [
      'a citation of a field that does not exist',
      { 'cases.0.divergence.cites': ['baseline:events[1]', 'new:events[1]', 'comparability.fields[1]'] },
      ['CM10'],
    ],
    [
      'a failing check in a case that passed',
      { 'cases.1.failing': [{ name: 'contains', message: null, at: null }] },
      ['CM10'],
    ],
    ['an explanation above 1,000 bytes', { 'cases.0.divergence.says': 'x'.repeat(1_001) }, ['CM10']],
  ];
  test.each(rows)('rejects %s', async (_, changes, rules) => {
    expect([...new Set(rulesOf(await judged(comparison, exampleWith(comparison, changes))))]).toEqual(rules);
  });
});

const SEALS = (comparison.example as Comparison).sides.baseline.seals;

const BREACH = { metric: 'latency_ms', limit: 0.2, measured: 0.3, message: 'Latency is 30 % higher than before.' };

describe('the comparison contract for older versions', () => {
  const older = JSON.parse(readFileSync(path.join(ROOT, 'tests/corpus/comparison/example.json'), 'utf8')) as unknown;
  const rows: [string, Record<string, unknown>, string[]][] = [
    ['a regression that the test does not show', { 'gate.mode': 'statistical', 'gate.breaches': [] }, ['CM3']],
    ['a breach without a tolerance', { 'gate.tolerances': {} }, ['CM4']],
    ['a breach within its limit', { 'gate.breaches.0.measured': 1_000 }, ['CM4']],
    ['a number of breaks that does not match the trials', { 'statistics.mcnemar.broke': 2 }, ['CM7']],
    ['a probability above 1', { 'statistics.mcnemar.p_value': 1.5 }, ['CM7']],
  ];
  test.each(rows)('rejects %s', async (_, changes, rules) => {
    const document = exampleWith({ ...comparison, example: older }, changes);
    expect([...new Set(rulesOf(await judged(comparison, document)))]).toEqual(rules);
  });
});

test('rejects any verdict but not_enough_evidence without a baseline', () => {
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

describe('the baseline contract', () => {
  const trial = {
    verdict: 'pass',
    error_class: null,
    output_hash: null,
    latency_ms: null,
    cost_usd: null,
    score: null,
  };
  const case_sha256 = `sha256:${'0'.repeat(64)}`;
  /** Without its seal, which would not match a changed baseline. */
  const { seal: _, ...bare } = baseline.example as Record<string, unknown>;
  const rows: [string, unknown, string[]][] = [
    ['an unsafe case id', { '../x': { case_sha256, trials: [trial] } }, ['BL4']],
    [
      'case ids that differ only in letter case',
      { a: { case_sha256, trials: [trial] }, A: { case_sha256, trials: [trial] } },
      ['BL4'],
    ],
    ['a score above 1', { a: { case_sha256, trials: [{ ...trial, score: 2 }] } }, ['BL4']],
    ['a null case', { a: null }, ['BL4']],
    [
      'an error class without an error',
      { a: { case_sha256, trials: [{ ...trial, error_class: 'timeout' }] } },
      ['BL4'],
    ],
    ['a case named constructor', { constructor: { case_sha256, trials: [trial] } }, []],
  ];
  test.each(titled(rows))('%s', async (_, cases, rules) => {
    expect(rulesOf(await judged(baseline, { ...bare, cases }))).toEqual(rules);
  });

  test('rejects a case named __proto__', async () => {
    const text = JSON.stringify(bare).replace('"refund-large":', '"__proto__":null,"refund-large":');
    expect(rulesOf(await judgedText(baseline, text))).toEqual(['BL4']);
  });

  test('rejects an unknown key inside a case in strict mode', async () => {
    const cases = { a: { case_sha256, trials: [trial], note: 'x' } };
    expect(rulesOf(await judged(baseline, { ...bare, cases }, { strict: true }))).toEqual(['BL4']);
  });
});

test('accepts a gate file with only its version', async () => {
  expect((await judged(gate, { schema_version: 'gate.v1' }, { strict: true })).violations).toEqual([]);
});

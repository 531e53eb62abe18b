import { describe, expect, test } from 'vitest';
import { changeOf, discordantIn, standingOf } from '../../../src/contracts/comparison/index.ts';
import type { JudgedCase } from '../../../src/judge/compare-input.ts';
import { acceptedFrom, sideFromAccepted } from '../../../src/judge/compare/baseline.ts';
import { compared, failedCase, hashOf, judgedCase, side, trial } from './sides.ts';

type Word = '+' | '-' | '?';
const TRIALS = {
  '+': { verdict: 'pass', error_class: null },
  '-': { verdict: 'fail', error_class: null },
  '?': { verdict: 'error', error_class: 'network_error' },
} as const;
const trials = (words: string) => [...words].map(word => TRIALS[word as Word]);

describe('the change of a case (+ passed, - failed, ? no verdict)', () => {
  const rows: [baseline: string, candidate: string, change: string, missing?: string][] = [
    ['+', '+', 'same'],
    ['-', '-', 'same'],
    ['+', '-', 'regressed'],
    ['-', '+', 'improved'],
    ['+++', '---', 'regressed'],
    ['---', '+++', 'improved'],
    ['+++', '--+', 'flaky'],
    ['++-', '---', 'flaky'],
    ['++-', '+++', 'flaky'],
    ['+-', '+-', 'flaky'],
    ['+', '---', 'regressed'],
    ['++?', '--?', 'regressed'],
    ['?', '+', 'missing', 'baseline'],
    ['+', '?', 'missing', 'new'],
    ['?', '?', 'missing', 'both'],
    ['', '-', 'missing', 'baseline'],
    ['+', '', 'missing', 'new'],
    ['+-', '?', 'missing', 'new'],
    ['???', '+-', 'missing', 'baseline'],
  ];
  test.each(rows)('%s then %s is %s', (baseline, candidate, change, side_missing) => {
    expect(changeOf(trials(baseline), trials(candidate))).toEqual({ change, ...(side_missing && { side_missing }) });
  });
});

describe('a trial', () => {
  const rows: [JudgedCase['error_class'], string][] = [
    ['timeout', 'failed'],
    ['http_error', 'failed'],
    ['invalid_json', 'failed'],
    ['schema_mismatch', 'failed'],
    ['network_error', 'missing'],
    ['other', 'missing'],
    ['missing', 'missing'],
    [null, 'missing'],
  ];
  test.each(rows)('that ended in %s counts as %s', (error_class, standing) => {
    expect(standingOf({ verdict: 'error', error_class })).toBe(standing);
  });
});

test('trials are paired by number, as far as both sides have them', () => {
  expect(discordantIn(trials('+++'), trials('--+'))).toEqual({ broke: 2, mended: 0 });
  expect(discordantIn(trials('+-'), trials('-+-'))).toEqual({ broke: 1, mended: 1 });
  expect(discordantIn(trials('+?'), trials('?-'))).toEqual({ broke: 0, mended: 0 });
});

test('lists the cases of the candidate in order, then those only in the baseline', () => {
  const { cases } = compared(
    side('baseline', [judgedCase('gone'), judgedCase('b'), judgedCase('a')]),
    side('new', [judgedCase('a'), judgedCase('b'), judgedCase('come')]),
  );
  expect(cases.map(({ case_id, change, side_missing }) => [case_id, change, side_missing])).toEqual([
    ['a', 'same', undefined],
    ['b', 'same', undefined],
    ['come', 'missing', 'baseline'],
    ['gone', 'missing', 'new'],
  ]);
});

test('a case that one of several runs lacks keeps its trials in the order of the runs', () => {
  const { cases } = compared(
    side('baseline', [judgedCase('a')], [judgedCase('a')]),
    side('new', [judgedCase('b')], [failedCase('a'), judgedCase('b')]),
  );
  const a = cases.find(({ case_id }) => case_id === 'a');
  expect(a?.new.trials.map(({ run_id, error_class }) => [run_id, error_class])).toEqual([
    ['new_1', 'missing'],
    ['new_2', null],
  ]);
  expect(a?.change).toBe('regressed');
});

describe('a rerun', () => {
  const planned = side('baseline', [judgedCase('a'), judgedCase('b')]);
  const again = (...cases: readonly JudgedCase[]) => trial('new_1.a1', cases, { isRerun: true });

  test('counts for a case only if its question matches the planned trials', () => {
    const { trials } = side('new', [failedCase('a'), failedCase('b')]);
    const other = { case_sha256: hashOf('easier') };
    const rounds = again(judgedCase('a', other), judgedCase('b'), judgedCase('never planned'));
    const { cases } = compared(planned, { source: 'runs', trials: [...trials, rounds] });
    expect(cases.map(({ case_id, new: { trials: told } }) => [case_id, told.map(({ verdict }) => verdict)])).toEqual([
      ['a', ['fail']],
      ['b', ['fail', 'pass']],
    ]);
  });

  test('is not accepted as part of a baseline', () => {
    const trials = [...planned.trials, again(failedCase('a'))];
    const accepted = acceptedFrom({ source: 'runs', trials }, '2026-01-07T09:31:00.000Z');
    expect(accepted.run_ids).toEqual(['baseline_1']);
    expect(accepted.seals).toHaveLength(1);
    expect(accepted.cases.a?.trials.map(({ verdict }) => verdict)).toEqual(['pass']);
    expect(sideFromAccepted(accepted).trials).toHaveLength(1);
  });
});

import { describe, expect, test } from 'vitest';
import type { Trial } from '../../../src/contracts/comparison/index.ts';
import {
  checkLimits,
  type LimitCheck,
  type GateLimits,
  tallyOf,
  unmetText,
} from '../../../src/contracts/gate/limits/index.ts';
import { gate } from '../../../src/contracts/gate/index.ts';
import { readGate } from '../../../src/judge/compare/gate-file.ts';
import { judged } from '../../support/support.ts';

const PASS: Trial = { verdict: 'pass', error_class: null, output_hash: 'a', latency_ms: 100, cost_usd: 0.5, score: 1 };
const FAIL: Trial = { ...PASS, verdict: 'fail', score: 0 };
const UNJUDGED: Trial = { ...PASS, score: null };
const TIMEOUT: Trial = {
  ...PASS,
  verdict: 'error',
  error_class: 'timeout',
  output_hash: null,
  latency_ms: null,
  cost_usd: null,
  score: null,
};
const SILENT: Trial = { ...TIMEOUT, error_class: 'network_error' };
const CHECK_BROKE: Trial = { ...PASS, verdict: 'error', error_class: 'other', score: null };

type Cases = Readonly<Record<string, readonly Trial[]>>;

function counted(cases: Cases, group: object = {}) {
  return Object.entries(cases).map(([case_id, trials]) => Object.assign({ case_id, tally: tallyOf(trials) }, group));
}

function checked(limits: GateLimits, cases: Cases): LimitCheck {
  const [check, ...others] = checkLimits({ limits }, counted(cases));
  expect(others).toEqual([]);
  return check as LimitCheck;
}

describe('a limit on counts', () => {
  test.each([
    ['max_failing', { a: [PASS], b: [FAIL], c: [TIMEOUT], d: [SILENT], e: [UNJUDGED], f: [FAIL, PASS] }, 2, ['b', 'c']],
    ['max_flaky', { a: [PASS, PASS], b: [FAIL, PASS], c: [FAIL, FAIL], d: [PASS, SILENT] }, 1, ['b']],
    [
      'max_unjudged',
      { a: [PASS], b: [UNJUDGED], c: [CHECK_BROKE], d: [SILENT], e: [PASS, UNJUDGED] },
      3,
      ['b', 'c', 'e'],
    ],
    ['max_missing', { a: [PASS], b: [SILENT], c: [TIMEOUT], d: [PASS, SILENT], e: [CHECK_BROKE] }, 2, ['b', 'd']],
  ] as const)('%s counts the right cases and names them', (limit, cases, measured, names) => {
    expect(checked({ [limit]: measured }, cases)).toMatchObject({ limit, measured, is_met: true });
    const broken = checked({ [limit]: measured - 1 }, cases);
    expect(broken).toMatchObject({ measured, allowed: measured - 1, is_met: false });
    expect(broken.message).toContain(`(${limit}): ${names.map(name => `“${name}”`).join(', ')}.`);
  });

  test('names at most five cases', () => {
    const cases = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`case-${index}`, [FAIL]]));
    expect(checked({ max_failing: 0 }, cases).message).toBe(
      '8 of 8 cases fail, and none may (max_failing): “case-0”, “case-1”, “case-2”, “case-3”, “case-4”, 3 more.',
    );
  });
});

describe('min_pass_rate', () => {
  test('is the mean over cases, regardless of their number of trials', () => {
    expect(checked({ min_pass_rate: 0.5 }, { a: [PASS, PASS, PASS, PASS], b: [FAIL] })).toMatchObject({
      measured: 0.5,
      is_met: true,
    });
  });

  test('counts a missing answer as not passed, and ignores unjudged answers', () => {
    expect(checked({ min_pass_rate: 0.6 }, { a: [PASS], b: [SILENT], c: [UNJUDGED] })).toMatchObject({
      measured: 0.5,
      is_met: false,
      message: '50 % of the trials pass, and at least 60 % must (min_pass_rate).',
    });
  });

  test('is never rounded up to its limit in the message', () => {
    const cases = Object.fromEntries(
      Array.from({ length: 10_001 }, (_, index) => [`case-${index}`, [index < 9_000 ? PASS : FAIL]]),
    );
    expect(checked({ min_pass_rate: 0.9 }, cases).message).toContain('89.99 % of the trials pass');
  });
});

describe('a limit on time and cost', () => {
  test('max_cost_usd applies to the sum of all trials', () => {
    const cases = { a: [PASS, PASS], b: [PASS, TIMEOUT] };
    expect(checked({ max_cost_usd: 1.5 }, cases)).toMatchObject({ measured: 1.5, is_met: true });
    expect(checked({ max_cost_usd: 1.4 }, cases)).toMatchObject({ measured: 1.5, is_met: false });
  });

  test('max_cost_usd is unknown if an answer has no cost, unless the others already exceed it', () => {
    const cases = { a: [PASS], b: [{ ...PASS, cost_usd: null }] };
    expect(checked({ max_cost_usd: 5 }, cases)).toMatchObject({
      measured: null,
      is_met: false,
      message: 'max_cost_usd cannot be judged: 1 answer does not say what it cost.',
    });
    expect(checked({ max_cost_usd: 0.4 }, cases)).toMatchObject({ measured: 0.5, is_met: false });
  });

  test.each(['invalid_json', 'schema_mismatch', 'other'] as const)(
    'max_cost_usd is unknown if an answer without a cost ended in %s',
    error_class => {
      const answered: Trial = { ...TIMEOUT, error_class, output_hash: error_class === 'other' ? 'a' : null };
      expect(checked({ max_cost_usd: 5 }, { a: [PASS], b: [answered], c: [answered] })).toMatchObject({
        measured: null,
        is_met: false,
        message: 'max_cost_usd cannot be judged: 2 answers do not say what they cost.',
      });
    },
  );

  test('max_latency_ms includes the duration of a trial that timed out', () => {
    const late: Trial = { ...TIMEOUT, failure: { status: null, latency_ms: 30_000 } };
    expect(checked({ max_latency_ms: 1_000 }, { a: [PASS], b: [late] })).toMatchObject({
      measured: 30_000,
      is_met: false,
    });
  });

  test('max_latency_ms is unknown if a trial timed out after an unknown time', () => {
    expect(checked({ max_latency_ms: 1_000 }, { a: [PASS], b: [TIMEOUT] })).toMatchObject({
      measured: null,
      is_met: false,
      message: 'max_latency_ms cannot be judged: 1 trial timed out and does not say how long it took.',
    });
    expect(checked({ max_latency_ms: 50 }, { a: [PASS], b: [TIMEOUT] })).toMatchObject({ measured: 100 });
  });

  test('max_latency_ms applies to the 95th percentile of the mean latency per case', () => {
    const cases = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [
        `case-${index}`,
        [
          { ...PASS, latency_ms: 100 * index },
          { ...PASS, latency_ms: 100 * index + 100 },
        ],
      ]),
    );
    expect(checked({ max_latency_ms: 1_850 }, cases)).toMatchObject({ measured: 1_850, is_met: true });
    expect(checked({ max_latency_ms: 1_849 }, cases)).toMatchObject({ is_met: false });
  });
});

describe('a limit without a measured value is not met and says why', () => {
  test.each([
    ['min_pass_rate', { a: [UNJUDGED], b: [SILENT] }, 'no case was judged'],
    ['max_failing', { a: [UNJUDGED], b: [SILENT] }, 'no case was judged'],
    ['max_flaky', { a: [PASS], b: [FAIL] }, 'no case was judged twice'],
    ['max_unjudged', { a: [SILENT] }, 'no case was answered'],
    ['max_missing', {}, 'there is no case'],
    ['max_cost_usd', { a: [{ ...PASS, cost_usd: null }] }, 'no answer says what it cost'],
    ['max_latency_ms', { a: [TIMEOUT] }, 'no answer was timed'],
  ] as const)('%s', (limit, cases, why) => {
    const check = checked({ [limit]: 1 }, cases);
    expect(check).toMatchObject({ measured: null, is_met: false });
    expect(check.message).toContain(`${limit} cannot be judged: ${why}`);
  });

  test('for a tag that no case has', () => {
    const [check] = checkLimits(
      { per_tag: { biling: { max_failing: 0 } } },
      counted({ a: [PASS] }, { tags: ['billing'] }),
    );
    expect(check).toMatchObject({ of: 'tag', name: 'biling', measured: null, is_met: false });
    expect(check?.message).toBe('Tag “biling”: max_failing cannot be judged: no case has this tag.');
  });
});

test('limits per suite, tag and severity count only their cases, in a fixed order', () => {
  const cases = [
    ...counted({ a: [FAIL] }, { suite: 'refunds', tags: ['billing', 'slow'], severity: 'high' }),
    ...counted({ b: [PASS] }, { suite: 'orders', severity: 'low' }),
  ];
  const zero = { max_failing: 0 };
  const checks = checkLimits(
    {
      per_severity: { low: zero, high: zero },
      per_tag: { slow: zero, billing: zero },
      per_suite: { refunds: zero, orders: zero },
    },
    cases,
  );
  expect(checks.map(({ of, name, is_met }) => `${of} ${name} ${is_met}`)).toEqual([
    'suite orders true',
    'suite refunds false',
    'tag billing false',
    'tag slow false',
    'severity high false',
    'severity low true',
  ]);
  expect(unmetText(checks)).toBe(
    'Suite “refunds”: 1 of 1 case fails, and none may (max_failing): “a”. 3 more limits are not met.',
  );
  expect(unmetText(checks.filter(({ is_met }) => is_met))).toBeUndefined();
});

describe('a gate file', () => {
  const withKeys = (keys: object) => judged(gate, { schema_version: 'gate.v1', ...keys }, { strict: true });

  test.each([
    ['a misspelled limit', { limits: { max_faling: 0 } }],
    ['a misspelled limit for a tag', { per_tag: { billing: { max_faling: 0 } } }],
    ['empty limits', { limits: {} }],
    ['a tag without a limit', { per_tag: { billing: {} } }],
    ['a suite without a name', { per_suite: { ' ': { max_failing: 0 } } }],
    ['a fractional number of cases', { limits: { max_failing: 0.5 } }],
    ['a rate in percent', { limits: { min_pass_rate: 90 } }],
    ['a negative cost', { limits: { max_cost_usd: -1 } }],
    [
      'more than 100 tags',
      { per_tag: Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`tag-${index}`, { max_failing: 0 }])) },
    ],
  ])('with %s breaks GT4', async (_, keys) => {
    const { outcome, violations } = await judged(gate, { schema_version: 'gate.v1', ...keys }, { strict: true });
    expect(outcome).toBe('invalid');
    expect(new Set(violations.map(({ rule_id }) => rule_id))).toEqual(new Set(['GT4']));
  });

  test('with every limit is valid and can be read from YAML', async () => {
    const limits = {
      min_pass_rate: 0.9,
      max_failing: 0,
      max_flaky: 1,
      max_unjudged: 2,
      max_missing: 0,
      max_cost_usd: 2.5,
      max_latency_ms: 900,
    };
    expect(await withKeys({ limits, per_suite: { refunds: limits } })).toMatchObject({
      outcome: 'valid',
      violations: [],
    });
    const text = 'schema_version: gate.v1\nlimits:\n  max_failing: 0\nper_tag: { billing: { min_pass_rate: 1 } }\n';
    expect(readGate(Buffer.from(text))).toMatchObject({
      limits: { max_failing: 0 },
      per_tag: { billing: { min_pass_rate: 1 } },
    });
  });
});

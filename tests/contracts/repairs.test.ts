import { describe, expect, test } from 'vitest';
import { isLatencyRepaired, isTimeRepaired } from '../../src/contracts/artifacts/measured.ts';
import { REPAIR_NAMES, repairedText, repairsOf, sumOfRepairs } from '../../src/contracts/artifacts/repairs.ts';
import { check } from '../../src/contracts/check.ts';
import { type Evaluation, evaluation } from '../../src/contracts/evaluation/index.ts';
import { REPLY_REPAIRS } from '../../src/targets/repairs.ts';

const attempt = { attempt: 1, started_at: '2026-01-06T12:00:00.000Z', outcome: 'ok' } as const;

test('the contract names exactly the repairs that a lenient reading makes', () => {
  expect(REPAIR_NAMES).toEqual(Object.keys(REPLY_REPAIRS));
});

describe('the repairs of an answer', () => {
  test('are those of its last attempt', () => {
    const attempts = [
      { ...attempt, repairs: { R1: 4 } },
      { ...attempt, attempt: 2, repairs: { R9: 2, R10: 1 } },
    ];
    expect(repairsOf({ attempts })).toEqual({ R9: 2, R10: 1 });
    expect(isLatencyRepaired({ attempts })).toBe(true);
    expect(isLatencyRepaired({ attempts: attempts.slice(0, 1) })).toBe(false);
    expect(isTimeRepaired({ attempts })).toBe(false);
    expect(isTimeRepaired({ attempts: attempts.slice(0, 1) })).toBe(true);
  });

  test('omit unknown names and counts of 0', () => {
    const repairs = JSON.parse('{"__proto__":3,"R11":1,"toString":2,"R2":0}') as Record<string, number>;
    expect(repairsOf({ attempts: [{ ...attempt, repairs }] })).toBeUndefined();
    expect(repairsOf({})).toBeUndefined();
  });

  test('add up, and are listed by number', () => {
    const sums = sumOfRepairs([{ R10: 3 }, undefined, { R6: 5 }, { R6: 7 }]);
    expect(sums).toEqual({ R6: 12, R10: 3 });
    expect(repairedText(sums)).toBe(
      'R6 × 12, R10 × 3: values that replies lack or name differently; see docs/targets.md',
    );
    expect(sumOfRepairs([undefined, {}])).toBeUndefined();
    expect(repairedText(undefined)).toBeUndefined();
  });
});

describe('an evaluation', () => {
  const example = evaluation.example as Evaluation;
  const [first, second, third] = example.cases as [JudgedCase, JudgedCase, JudgedCase];
  const broken = (over: Partial<Evaluation>): string[] => {
    const { violations } = check(evaluation, { ...example, ...over }, { strict: true, internal: false });
    return violations.map(({ rule_id, path }) => `${rule_id} ${path}`);
  };

  test('must state the sum of the repairs of its cases', () => {
    expect(broken({})).toEqual([]);
    expect(broken({ repairs: { R6: 2 } })).toEqual(['EV10 repairs']);
    expect(broken({ repairs: { R6: 1, R9: 1 } })).toEqual(['EV10 repairs']);
    expect(broken({ cases: [{ ...first, repairs: { R6: 1 } }, second, third] })).toEqual(['EV10 repairs']);
    expect(broken({ cases: [{ ...first, repairs: { R6: 1 } }, second, third], repairs: { R6: 2 } })).toEqual([]);
  });

  test('must not state an unknown repair, or one that was applied 0 times', () => {
    expect(broken({ repairs: { R6: 1, R11: 1 } as Evaluation['repairs'] })).toContain('EV10 repairs.R11');
    expect(broken({ repairs: { R6: 0 } })[0]).toBe('EV10 repairs.R6');
  });

  test('must not state a negative time to first token, or one for a missing case', () => {
    const timed = (ttft_ms: number): JudgedCase => ({ ...first, metrics: { ...first.metrics, ttft_ms } });
    expect(broken({ cases: [timed(0.5), second, third] })).toEqual([]);
    expect(broken({ cases: [timed(-1), second, third] })[0]).toMatch(/^EV7 /);
    const none = { latency_ms: null, attempts: 0, cost_usd: null, tokens: null, steps: 0, score: null };
    const missing = { ...third, error_class: 'missing' as const, metrics: none };
    expect(broken({ cases: [first, second, missing] })).toEqual([]);
    expect(broken({ cases: [first, second, { ...missing, metrics: { ...none, ttft_ms: 0 } }] })).toEqual([
      'EV7 cases[2].metrics',
    ]);
  });
});

type JudgedCase = Evaluation['cases'][number];

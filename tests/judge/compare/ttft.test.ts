import { describe, expect, test } from 'vitest';
import { check } from '../../../src/contracts/check.ts';
import { comparison as contract, type Comparison } from '../../../src/contracts/comparison/index.ts';
import { acceptedFrom, sideFromAccepted } from '../../../src/judge/compare/baseline.ts';
import type { JudgedCase } from '../../../src/judge/compare-input.ts';
import { gateOf } from '../../../src/judge/compare/gate.ts';
import { compared, judgedCase, side } from './sides.ts';

/** Twenty cases; `ttftOf` gives the time to first token of each. */
function streamed(ttftOf: (index: number) => number | undefined, over: Partial<JudgedCase> = {}): JudgedCase[] {
  return Array.from({ length: 20 }, (_, index) => {
    const one = judgedCase(`case-${index}`, over);
    const ttft_ms = ttftOf(index);
    return ttft_ms === undefined ? one : { ...one, metrics: { ...one.metrics, ttft_ms } };
  });
}

const rulesBroken = (document: unknown): string[] =>
  check(contract, document, { strict: true, internal: false }).violations.map(({ rule_id }) => rule_id);

const before = side(
  'baseline',
  streamed(() => 100),
);
const slower = side(
  'new',
  streamed(() => 130),
);
const gate = gateOf({ tolerances: { ttft_ms: { max_increase_ratio: 0.2 } } });

describe('the time to first token', () => {
  test('is compared case by case, next to latency', () => {
    const { statistics, cases } = compared(before, slower);
    expect(statistics.metrics.map(({ name }) => name)).toEqual(['latency_ms', 'ttft_ms', 'score']);
    expect(statistics.metrics[1]).toMatchObject({ pairs: 20, baseline: { mean: 100 }, new: { p95: 130 } });
    expect(cases[0]?.new.trials[0]).toMatchObject({ latency_ms: 100, ttft_ms: 130 });
  });

  test('fails the gate beyond its tolerance', () => {
    const document = compared(before, slower, gate);
    expect(document).toMatchObject({ verdict: 'regression', exit_code: 1 });
    expect(document.reason).toBe('Time to first token is 30 % higher than before; at most 20 % is allowed.');
    expect(rulesBroken(document)).toEqual([]);
    const tail = gateOf({ tolerances: { ttft_ms: { statistic: 'p95', max_increase: 20 } } });
    expect(compared(before, slower, tail).reason).toBe(
      'Trials with time to first token above the baseline’s 95th percentile plus 20 ms are 100 % more frequent than before; at most 5 % is allowed.',
    );
    expect(compared(before, before, gate)).toMatchObject({ gate: { breaches: [] } });
  });

  test('leads to not_enough_evidence if too many cases lack it on a side', () => {
    const some = side(
      'new',
      streamed(index => (index < 18 ? 100 : undefined)),
    );
    const document = compared(before, some, gate);
    expect(document).toMatchObject({ verdict: 'not_enough_evidence', exit_code: 3 });
    expect(document.reason).toBe(
      'The gate limits time to first token, but 2 of 20 cases lack it on at least one side.',
    );
    expect(rulesBroken(document)).toEqual([]);
    const none = side(
      'new',
      streamed(() => undefined),
    );
    expect(compared(none, none, gate).reason).toContain('no case reports it on both sides');
  });

  test('cannot be forged in a trial: the verifier computes the decision again', () => {
    const document = compared(before, slower, gate);
    const forged = structuredClone(document);
    for (const { new: candidate } of forged.cases) for (const one of candidate.trials) one.ttft_ms = 90;
    expect(rulesBroken(forged)).toContain('CM11');
    const hidden: Comparison = { ...document, verdict: 'no_regression', exit_code: 0 };
    expect(rulesBroken(hidden)).toContain('CM3');
    const without = structuredClone(document);
    for (const { new: candidate } of without.cases) for (const one of candidate.trials) delete one.ttft_ms;
    expect(rulesBroken(without)).toContain('CM11');
    const negative = structuredClone(document);
    for (const { new: candidate } of negative.cases) for (const one of candidate.trials) one.ttft_ms = -1;
    expect(rulesBroken(negative)).toContain('CM9');
  });

  test('leaves no trace in a comparison of replies that are not streams', () => {
    const plain = streamed(() => undefined);
    expect(JSON.stringify(compared(side('baseline', plain), side('new', plain)))).not.toContain('ttft');
  });
});

test('an accepted baseline keeps times to first token and repairs', () => {
  const repaired = side(
    'baseline',
    streamed(() => 100, { repairs: { R6: 2 } }),
  );
  const accepted = acceptedFrom(repaired, '2026-01-06T12:30:00.000Z');
  expect(accepted.cases['case-3']?.trials[0]).toMatchObject({ ttft_ms: 100, repairs: { R6: 2 } });
  const document = compared(sideFromAccepted(accepted), slower, gate);
  expect(document.verdict).toBe('regression');
  expect(document.cases[3]?.baseline.trials[0]).toMatchObject({ ttft_ms: 100, repairs: { R6: 2 } });
  expect(document.cases[3]?.new.trials[0]).not.toHaveProperty('repairs');
  expect(rulesBroken(document)).toEqual([]);
});

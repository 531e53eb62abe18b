import { describe, expect, test } from 'vitest';
import { measuresOf } from '../../src/reports/measures.ts';
import { headlineOf } from '../../src/reports/page.ts';
import type { PageTrial } from '../../src/reports/page-data.ts';

const trial = (over: Partial<PageTrial>): PageTrial => ({
  run_id: 'run_1',
  verdict: 'pass',
  error_class: null,
  output_hash: null,
  latency_ms: null,
  cost_usd: null,
  score: null,
  ...over,
});

const measure = (cases: Parameters<typeof measuresOf>[0], name: string, kind: 'comparison' | 'run' = 'comparison') =>
  measuresOf(cases, kind).find(one => one.name === name);

describe('measures', () => {
  test('take medians over cases measured on both sides, and totals over all trials', () => {
    const cases = [
      { baseline: [trial({ tokens: 10 }), trial({ tokens: 30 })], new: [trial({ tokens: 40 }), trial({ tokens: 60 })] },
      { baseline: [trial({ tokens: 100 })], new: [trial({})] },
    ];
    expect(measure(cases, 'tokens')).toEqual({
      name: 'tokens',
      cases: 1,
      baseline: { median: 20, p95: 20, total: 140, known: 3, trials: 3 },
      new: { median: 50, p95: 50, total: 100, known: 2, trials: 3 },
    });
  });

  test('are null if nothing was reported, never 0', () => {
    expect(measure([{ baseline: [trial({})], new: [trial({ cost_usd: 0 })] }], 'cost_usd')).toMatchObject({
      cases: 0,
      baseline: null,
      new: { median: null, total: 0, known: 1 },
    });
  });

  test('of a run need no baseline', () => {
    const cases = [1, 2, 9].map(latency_ms => ({ baseline: [], new: [trial({ latency_ms })] }));
    expect(measure(cases, 'latency_ms', 'run')).toMatchObject({
      cases: 3,
      baseline: null,
      new: { median: 2, total: 12 },
    });
  });
});

describe('a headline', () => {
  test('is the sentence itself if it is short', () => {
    expect(headlineOf('2 of 6 cases fail.')).toEqual({ sentence: '2 of 6 cases fail.', details: null });
  });

  test('is the first sentence, without a long list', () => {
    const says = `9 of 60 cases always passed before and never pass now: ${'“refund-large” (2/2 → 0/2), '.repeat(9)}and more. Latency is higher.`;
    expect(headlineOf(says)).toEqual({
      sentence: '9 of 60 cases always passed before and never pass now.',
      details: says,
    });
  });

  test('is at most 112 characters', () => {
    for (const says of ['word '.repeat(100), 'x'.repeat(500), `${'y'.repeat(300)}: list`])
      expect(headlineOf(says).sentence.length).toBeLessThanOrEqual(112);
  });
});

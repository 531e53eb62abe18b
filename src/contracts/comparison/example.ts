import type { ComparedCase, Comparison } from './shape.ts';

const BASELINE = 'suite_20260106_120000_4f1c9a7be210';
const CANDIDATE = 'suite_20260107_093000_b2d81c06aa47';

type ExampleTrial = ComparedCase['new']['trials'][number];

function sideWith(run_id: string, over: Partial<ExampleTrial> = {}): { trials: ExampleTrial[] } {
  return {
    trials: [
      {
        run_id,
        verdict: 'pass',
        error_class: null,
        output_hash: '8d1f2c90',
        latency_ms: 840,
        cost_usd: null,
        score: 1,
        ...over,
      },
    ],
  };
}

/** One of two cases got worse, because a tool was called with different arguments. */
export const comparisonExample: Comparison = {
  schema_version: 'comparison.v1',
  comparison_id: 'comparison_20260107_093100_7a1f00c2d3e4',
  generated_at: '2026-01-07T09:31:00.000Z',
  verdict: 'regression',
  reason: '1 of 2 cases always passed before and never passes now: “refund-small” (1/1 → 0/1).',
  exit_code: 1,
  gate: {
    mode: 'strict',
    tolerances: {},
    missing_max_ratio: 0.05,
    breaches: [],
  },
  comparability: {
    state: 'drift',
    fields: [{ field: 'settings.concurrency', baseline: '4', new: '32' }],
  },
  sides: {
    baseline: {
      source: 'runs',
      run_ids: [BASELINE],
      seals: ['sha256:3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b'],
      trials: 1,
      environment_hash: 'sha256:9d4e1e23bd5b727046a9e3b4b7db57bd8d6ee684a3c1f2e0b5d7c9a8f6e4d2b0',
      target_sha256: 'sha256:0a4d55a8d778e5022fab701977c5d840bbc486d0c5a1f6a1d5e8b5d7c9a8f6e4',
      cases_sha256: 'sha256:e3b1c442a8fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8aa',
    },
    new: {
      source: 'runs',
      run_ids: [CANDIDATE],
      seals: ['sha256:830861b74667a7c5b9967012e89ada945b3e53c0eb61ea74fbdfc6497edb22bc'],
      trials: 1,
      environment_hash: 'sha256:9d4e1e23bd5b727046a9e3b4b7db57bd8d6ee684a3c1f2e0b5d7c9a8f6e4d2b0',
      target_sha256: 'sha256:5f1d6c0b8a0e4f3f2f6f0d1b7c9a4e5d3b2a1908f7e6d5c4b3a29180f7e6d5c4',
      cases_sha256: 'sha256:e3b1c442a8fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8aa',
    },
  },
  summary: { cases: 2, regressed: 1, improved: 0, same: 1, flaky: 0, missing: 0, without_expectations: 0 },
  statistics: {
    metrics: [
      {
        name: 'latency_ms',
        pairs: 2,
        baseline: { mean: 840, p50: 840, p95: 840 },
        new: { mean: 1_020, p50: 1_020, p95: 1_182 },
        difference: { mean: 180, low: 0, high: 360 },
      },
    ],
    more_trials: null,
  },
  decision: {
    cause: 'broken',
    cases: 2,
    drop: null,
    high: null,
    p: null,
    detectable: null,
    rates: {
      baseline: { rate: 1, low: 0.342380227507, high: 1 },
      new: { rate: 0.5, low: 0.094531205734, high: 0.905468794266 },
    },
    metrics: [],
    broken: [{ case_id: 'refund-small', baseline: { passes: 1, trials: 1 }, new: { passes: 0, trials: 1 }, p: 0.25 }],
    suspects: [],
    removed: [],
    weakened: [],
  },
  cases: [
    {
      case_id: 'refund-small',
      title: 'Proposes a small refund with its evidence',
      suite: 'refunds',
      change: 'regressed',
      baseline: sideWith(BASELINE),
      new: sideWith(CANDIDATE, { verdict: 'fail', output_hash: '77aa01fe', latency_ms: 1_200, score: 0.5 }),
      failing: [
        {
          name: 'contains',
          message: 'The output does not contain the expected text.',
          at: 'final_output.content',
        },
      ],
      divergence: {
        kind: 'tool_arguments',
        baseline_at: 'events[1]',
        new_at: 'events[1]',
        says: 'The candidate called “orders.get” with a different “order_id”. This is a likely cause: the failing check (contains) comes after it.',
        confidence: 'medium',
        cites: ['baseline:events[1]', 'new:events[1]'],
      },
    },
    {
      case_id: 'refund-unknown',
      title: null,
      change: 'same',
      baseline: sideWith(BASELINE),
      new: sideWith(CANDIDATE),
      failing: [],
      divergence: null,
    },
  ],
};

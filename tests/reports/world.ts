import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import type { Comparison } from '../../src/contracts/comparison/index.ts';
import type { JudgedCase } from '../../src/judge/compare-input.ts';
import { compareSides } from '../../src/judge/compare/compare.ts';
import { gateOf } from '../../src/judge/compare/gate.ts';
import type { JudgedRun } from '../../src/reports/report.ts';
import { answer, call, failedCase, judgedCase, result, side } from '../judge/compare/sides.ts';

export const text = (pieces: Iterable<string>): string => [...pieces].join('');

/** A comparison with a case of every kind. */
export function mixedComparison(): Comparison {
  return (mixed ??= makeMixed());
}

let mixed: Comparison | undefined;

function makeMixed(): Comparison {
  const ids = ['refund-small', 'refund-large', 'still-broken', 'slow', 'wobbly', 'mended', 'gone'];
  const [small, large, broken, slow, wobbly, mended, gone] = ids as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const late = (id: string) => judgedCase(id, { verdict: 'error', error_class: 'timeout' });
  const score = { latency_ms: 250, attempts: 1, cost_usd: 0.002, tokens: 10, steps: 1, score: 0.5 };
  const baseline = side(
    'baseline',
    [
      judgedCase(small),
      judgedCase(large),
      failedCase(broken),
      late(slow),
      judgedCase(wobbly),
      failedCase(mended),
      judgedCase(gone),
    ],
    [
      judgedCase(small),
      judgedCase(large),
      failedCase(broken),
      late(slow),
      judgedCase(wobbly),
      failedCase(mended),
      judgedCase(gone),
    ],
  );
  const first = [
    failedCase(small, 'tool_required', { metrics: score }),
    late(large),
    failedCase(broken),
    late(slow),
    judgedCase(mended),
  ];
  const candidate = side('new', [...first, failedCase(wobbly)], [...first, judgedCase(wobbly)]);
  return compareSides(
    baseline,
    candidate,
    gateOf({ mode: 'strict', tolerances: { latency_ms: { max_increase: 10 } } }),
    {
      comparisonId: 'comparison_20260107_093100_7a1f00c2d3e4',
      generatedAt: '2026-01-07T09:31:00.000Z',
      names: new Map([[small, { title: 'A small refund', suite: 'refunds' }]]),
      artifactOf: ({ runId }, id) => {
        const isNew = runId.startsWith('new');
        if (id === slow || (isNew && id === large)) return silence;
        return answer({ events: [call(isNew ? 'orders.list' : 'orders.get', { id: 1 }), result('an order')] });
      },
    },
  );
}

/** A case that got no answer. */
const silence: CaseArtifact = {
  schema_version: 'case.v1',
  case_id: 'slow',
  version: 'new',
  status: 'runner_error',
  runner_failure: {
    class: 'timeout',
    url: 'http://127.0.0.1:8788/run-case',
    attempt: 1,
    timeout_ms: 15_000,
    body_snippet: null,
    full_body_saved_to: null,
  },
};

/** A comparison of streamed replies, some of them repaired. */
export function streamedComparison(): Comparison {
  const answers = (ttft_ms: number, over: Partial<JudgedCase>): JudgedCase[] =>
    ['first', 'second'].map(id => judgedCase(id, { ...over, metrics: { ...judgedCase(id).metrics, ttft_ms } }));
  return compareSides(
    side('baseline', answers(200, {})),
    side('new', answers(260, { repairs: { R10: 1, R6: 2 } })),
    gateOf({ mode: 'strict' }),
    {
      comparisonId: 'comparison_20260107_093100_7a1f00c2d3e4',
      generatedAt: '2026-01-07T09:31:00.000Z',
      artifactOf: () => undefined,
    },
  );
}

/** A run of streamed replies, some of them repaired. */
export const streamedRun: JudgedRun = {
  run: { run_id: 'suite_2', version: 'new', base_url: 'http://127.0.0.1:8788' },
  evaluation: {
    summary: { total: 2, passed: 1, failed: 1, errors: 0, unjudged: 0 },
    cases: [judgedCase('good', { metrics: { ...judgedCase('good').metrics, ttft_ms: 31.5 } }), failedCase('bad')],
    repairs: { R6: 12, R10: 3 },
  },
};

/** A judged run without a comparison. */
export const judgedRun: JudgedRun = {
  run: { run_id: 'suite_1', version: 'new', base_url: 'http://127.0.0.1:8788' },
  evaluation: {
    summary: { total: 4, passed: 1, failed: 1, errors: 2, unjudged: 1 },
    cases: [
      judgedCase('good'),
      failedCase('bad'),
      judgedCase('late', { verdict: 'error', error_class: 'timeout' }),
      judgedCase('lost', { verdict: 'error', error_class: 'missing' }),
    ],
  },
};

/** Attacks that agents and case authors may try in a report. */
export const ATTACKS = [
  '</details><script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '![x](https://evil.example/x.png)',
  '[click](javascript:alert(1))',
  'https://evil.example www.evil.example a@evil.example',
  '@everyone see #1 and GH-12 and 0123456789abcdef0123456789abcdef01234567',
  '| a | b |\n|---|---|\n# Heading',
  '`code` ``more`` ```fence```',
  '\\`escaped\\| \\',
  ']]> <![CDATA[ <!-- --> &amp; &#0; "\'',
  '\u0000\u0007\u001b[2J\u009b31m\u202eright\u2028\ufeff\uffff\ufffe',
  'half \ud800 of \udc00 a pair',
  '$x$ :smile: *b* _i_ ~s~',
  '=HYPERLINK("https://evil.example")',
];

/** The mixed comparison with an attack in every untrusted text. */
export function attacked(attack: string): Comparison {
  const comparison = mixedComparison();
  return {
    ...comparison,
    reason: `1 of 2 cases regressed ${attack}`,
    comparability: { state: 'drift', fields: [{ field: attack, baseline: attack, new: null }] },
    cases: comparison.cases.map(one =>
      Object.assign(structuredClone(one), {
        title: attack,
        suite: attack,
        failing: one.failing.map(({ at }) => ({ name: attack, message: attack, at })),
        divergence: one.divergence && {
          ...one.divergence,
          says: `It called “${attack}” and ${attack}. Certain.`,
          cites: [attack],
        },
      }),
    ),
  };
}

import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import type { Comparison } from '../../src/contracts/comparison/index.ts';
import { compareSides } from '../../src/judge/compare/compare.ts';
import { gateOf } from '../../src/judge/compare/gate.ts';
import { judgedCase, side } from '../judge/compare/sides.ts';
import { reports, terminalReport } from '../../src/reports/index.ts';
import { ATTACKS, attacked, judgedRun, mixedComparison, streamedComparison, streamedRun, text } from './world.ts';

const GOLDEN = path.join(import.meta.dirname, 'golden');

describe.each(['terminal', 'md', 'junit'] as const)('the report %s', format => {
  const report = reports[format];

  test('shows a comparison as in the golden file', async () => {
    const told = text(report.ofComparison(mixedComparison()));
    await expect(told).toMatchFileSnapshot(path.join(GOLDEN, `comparison.${format}.txt`));
  });

  test('shows a run as in the golden file', async () => {
    await expect(text(report.ofRun(judgedRun))).toMatchFileSnapshot(path.join(GOLDEN, `run.${format}.txt`));
  });

  test('shows times to first token and repairs as in the golden files', async () => {
    const comparison = text(report.ofComparison(streamedComparison()));
    await expect(comparison).toMatchFileSnapshot(path.join(GOLDEN, `streamed-comparison.${format}.txt`));
    await expect(text(report.ofRun(streamedRun))).toMatchFileSnapshot(path.join(GOLDEN, `streamed-run.${format}.txt`));
  });

  test.each(ATTACKS)('stays intact with %j', attack => {
    const told = text(report.ofComparison(attacked(attack)));
    // The only control characters are Proctor's line feeds.
    expect(told).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\ufeff]/);
    expect(told.isWellFormed()).toBe(true);
    expect(told.split('\n').length).toBe(text(report.ofComparison(attacked('word'))).split('\n').length);
  });
});

test('the terminal shows the verdict last, and uses colour only if it gets a painter', () => {
  const painted = text(terminalReport((style, words) => `<${style}>${words}</>`).ofComparison(mixedComparison()));
  expect(painted.trimEnd().split('\n').at(-1)).toMatch(/^<bad>✗ Regression<\/> {2}2 of 6 cases always passed before/);
  const plain = text(reports.terminal.ofComparison(mixedComparison())).trimEnd();
  expect(plain.split('\n').at(-1)).toMatch(/^✗ Regression {2}2 of 6/);
});

test.each(['terminal', 'md'] as const)('%s shows no interval for a difference measured on one case', format => {
  const metrics = { latency_ms: 250, attempts: 1, cost_usd: null, tokens: null, steps: 1, score: null };
  const sides = (...ids: string[]): Comparison => {
    const about = { comparisonId: 'c', generatedAt: '2026-01-07T09:31:00.000Z', artifactOf: () => undefined };
    const baseline = side(
      'baseline',
      ids.map(id => judgedCase(id, { metrics: { ...metrics, latency_ms: 200 } })),
    );
    return compareSides(
      baseline,
      side(
        'new',
        ids.map(id => judgedCase(id, { metrics })),
      ),
      gateOf({}),
      about,
    );
  };
  expect(text(reports[format].ofComparison(sides('one')))).toMatch(/\+50 ms[^,;|]*no interval for a single case/);
  expect(text(reports[format].ofComparison(sides('one', 'two')))).toMatch(/\+50 ms to \+50 ms/);
});

describe('a comparison with 189 regressions in the terminal', () => {
  const comparison = mixedComparison();
  const [like] = comparison.cases.filter(({ case_id }) => case_id === 'refund-small') as [Comparison['cases'][number]];
  const [late] = comparison.cases.filter(({ case_id }) => case_id === 'refund-large') as [Comparison['cases'][number]];
  const named = (one: typeof like, count: number, prefix: string) =>
    Array.from({ length: count }, (_, index) => ({ ...one, case_id: `${prefix}-${index}` }));
  const told = text(
    reports.terminal.ofComparison({ ...comparison, cases: [...named(like, 150, 'tool'), ...named(late, 39, 'late')] }),
  );

  test('shows three cases of each cause, names ten more, and counts the rest', () => {
    expect(told.match(/^ {2}regressed {2}(?:tool|late)-\d+/gm)).toHaveLength(6);
    expect(told).toContain('and 147 more cases with the same cause: tool-3, tool-4,');
    expect(told).toContain('and 36 more cases with the same cause: late-3,');
    expect(told).toMatch(/tool-12 and 137 more\n/);
  });

  test('counts the regressions of each cause, and ends with the verdict, within 50 lines', () => {
    const lines = told.trimEnd().split('\n');
    expect(told).toMatch(
      /Regressions by cause\n {4}150 {2}tool choice: orders\.list instead of orders\.get\n {5}39 {2}runner: timeout\n/,
    );
    expect(lines.at(-1)).toMatch(/^✗ Regression {2}/);
    expect(lines.length).toBeLessThan(50);
  });

  test('counts them in a comment, too', () => {
    const comment = text(
      reports.md.ofComparison({ ...comparison, cases: [...named(like, 150, 'tool'), ...named(late, 39, 'late')] }),
    );
    expect(comment).toContain('- 150 × tool choice: orders.list instead of orders.get\n- 39 × runner: timeout\n');
  });

  test('counts the cases whose causes do not fit', () => {
    const cases = Array.from({ length: 40 }, (_, index) => ({
      ...like,
      case_id: `odd-${index}`,
      divergence: { ...(like.divergence as NonNullable<typeof like.divergence>), says: `Cause ${index}. Certain.` },
    }));
    const many = text(reports.terminal.ofComparison({ ...comparison, cases }));
    expect(many.match(/^ {2}regressed {2}odd-\d+/gm)).toHaveLength(12);
    expect(many).toContain('and 28 more cases with 28 other causes, in the report');
    expect(many).toMatch(/ 28 {2}other causes, in the report\n/);
  });
});

test('JSON is the document itself, in canonical form', () => {
  expect(text(reports.json.ofComparison(mixedComparison()))).toBe(`${canonicalize(mixedComparison())}\n`);
});

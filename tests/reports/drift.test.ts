import { describe, expect, test } from 'vitest';
import type { Comparison } from '../../src/contracts/comparison/index.ts';
import { comparisonPage } from '../../src/reports/comparison-page.ts';
import { driftGroups } from '../../src/reports/drift.ts';
import { reports } from '../../src/reports/index.ts';
import { mixedComparison, text } from './world.ts';

const hash = (letter: string): string => `sha256:${letter.repeat(64)}`;

function drifted(...fields: [field: string, baseline: string | null, now: string | null][]): Comparison {
  const named = fields.map(([field, baseline, now]) => ({ field, baseline, new: now }));
  return { ...mixedComparison(), comparability: { state: 'drift', fields: named } };
}

describe('the differences between the sides', () => {
  const shorter = drifted(
    ['environment_hash', hash('a'), hash('b')],
    ['policy.limits.max_memory_bytes', null, '1024'],
    ['policy.limits.timeout_ms', '60000', '20000'],
    ['settings.idle_timeout_ms', '60000', '20000'],
    ['settings.retries', '2', '0'],
    ['settings.timeout_ms', '60000', '20000'],
    ['target.kind', 'http', 'script'],
  );

  test('are grouped, and each appears once', () => {
    const told = text(reports.terminal.ofComparison(shorter));
    expect(told.split('\n').filter(line => line.startsWith('  drift'))).toEqual([
      '  drift  settings: retries 2 → 0, timeout_ms 60000 → 20000',
      '  drift  limits: max_memory_bytes unknown → 1024',
      '  drift  environment: aaaaaaaaaaaa… → bbbbbbbbbbbb… (a hash that also covers the limits and the sandbox)',
      '  drift  kind of target: http → script',
    ]);
    expect(text(reports.md.ofComparison(shorter)).match(/20000/g)).toHaveLength(1);
  });

  test('include a hash that no other field explains', () => {
    expect(driftGroups(drifted(['environment_hash', hash('a'), hash('b')]))).toEqual([
      { of: 'environment', changes: [{ name: '', baseline: 'aaaaaaaaaaaa…', new: 'bbbbbbbbbbbb…' }] },
    ]);
  });

  test('keep an idle timeout that differs from the timeout', () => {
    const [settings] = driftGroups(
      drifted(['settings.idle_timeout_ms', '60000', '5000'], ['settings.timeout_ms', '60000', '20000']),
    );
    expect(settings?.changes.map(({ name }) => name)).toEqual(['timeout_ms', 'idle_timeout_ms']);
  });
});

describe('causes against an accepted baseline', () => {
  const runs = mixedComparison();
  const accepted: Comparison = {
    ...runs,
    sides: { ...runs.sides, baseline: { ...runs.sides.baseline, source: 'accepted' } },
  };
  const told = (comparison: Comparison): boolean[] => [
    ...(['terminal', 'md'] as const).map(format =>
      text(reports[format].ofComparison(comparison)).includes('to see why'),
    ),
    (comparisonPage({ comparison, pairs: () => ({}) }).head.comparison?.causes_note ?? '').includes('to see why'),
  ];

  test('are marked as guesses in every report', () => {
    expect(told(accepted)).toEqual([true, true, true]);
  });

  test('are not marked if events are available, or if no case needs a cause', () => {
    const calm = { ...accepted, cases: accepted.cases.filter(({ change }) => change === 'same') };
    expect([told(runs), told(calm)]).toEqual([
      [false, false, false],
      [false, false, false],
    ]);
  });
});

import { describe, expect, test } from 'vitest';
import type { Comparison } from '../../src/contracts/comparison/index.ts';
import { explanationOf } from '../../src/reports/explanation.ts';
import { reports } from '../../src/reports/index.ts';
import { pageGrounds } from '../../src/reports/page-grounds.ts';
import { axisOf } from '../../web/shared/interval-axis.ts';
import { tallyOf } from '../../web/shared/format.ts';
import { identical, notWorse, unsettled, withoutDecision, withReruns, withSuspect, worse } from './verdict-world.ts';
import { mixedComparison, text } from './world.ts';

const notesOf = (comparison: Comparison): Record<string, string> =>
  Object.fromEntries((explanationOf(comparison)?.notes ?? []).map(({ label, says }) => [label, says]));
const told = (comparison: Comparison): string => text(reports.terminal.ofComparison(comparison));
const markdown = (comparison: Comparison): string => text(reports.md.ofComparison(comparison));

describe('the evidence behind a verdict', () => {
  test('shows, for a suspect, what was ruled out, the power, and the command that reruns it', () => {
    const found = withSuspect();
    expect(found.decision?.cause).toBe('suspect');
    const notes = notesOf(found);
    expect(notes['Ruled out']).toMatch(/^a drop of more than [\d.]+ points in the pass rate \(95 % confidence\)\.$/);
    expect(notes.Power).toMatch(/^comparisons of this size detect a drop of [\d.]+ points four times out of five;/);
    expect(notes['To settle it']).toContain('“proctor compare BASELINE NEW --again”');
  });

  test('shows the reruns of a broken case, and nothing left to settle', () => {
    const found = withReruns();
    expect(found.decision?.cause).toBe('broken');
    const notes = notesOf(found);
    expect(notes['Run again']).toBe(
      '10 trials in 5 rounds on both sides; more trials would not settle any remaining case.',
    );
    expect(notes).not.toHaveProperty('To settle it');
  });

  test('shows, for a drop of the whole suite, which drop is ruled out', () => {
    const found = worse();
    expect(found.decision?.cause).toBe('worse');
    expect(notesOf(found)['Ruled out']).toMatch(/^a drop of more than/);
  });

  test('shows, for an undecided comparison, the number of repetitions that would settle it', () => {
    const found = unsettled();
    expect(found.decision?.cause).toBe('unsettled');
    const more = found.statistics.more_trials ?? Number.NaN;
    expect(notesOf(found)['To settle it']).toBe(`run both sides with “--repeat ${1 + more}”.`);
  });

  test('does not repeat the reason', () => {
    for (const found of [notWorse(), unsettled()]) expect(Object.keys(notesOf(found))).not.toContain('Ruled out');
    expect(notesOf(notWorse())).not.toHaveProperty('To settle it');
  });

  test('shows which drop is ruled out if a limit on time or cost decided the verdict', () => {
    const found: Comparison = { ...notWorse(), verdict: 'regression', exit_code: 1, reason: 'Latency is higher.' };
    expect(notesOf(found)['Ruled out']).toMatch(/^a drop of more than/);
  });

  test('shows no probability for identical answers, or for sides that cannot be compared', () => {
    expect(identical().decision?.cause).toBe('identical');
    expect(explanationOf(identical())?.notes).toEqual([]);
    const apart = { ...withSuspect(), comparability: { state: 'not_comparable' as const, fields: [] } };
    expect(explanationOf(apart)).toBeUndefined();
    expect(told(apart)).not.toContain('suspect  ');
  });

  test('is empty for comparisons of older versions, whose reports still work', () => {
    const old = withoutDecision();
    expect(explanationOf(old)).toBeUndefined();
    expect(pageGrounds(old)).toBeNull();
    expect(told(old)).toContain('refund-7  2/2 → 0/2');
    expect(markdown(old)).not.toContain('Pass rate');
  });
});

describe('the terminal and Markdown', () => {
  test('count the trials of each case, and mark suspects and broken cases', () => {
    expect(told(withSuspect())).toContain('  regressed  refund-7  2/2 → 0/2, suspect\n');
    expect(markdown(withSuspect())).toContain('| `refund-7` | 2/2 → 0/2, suspect |');
    expect(told(withReruns())).toContain('  regressed  refund-3  6/6 → 0/6, broken\n');
    expect(told(mixedComparison())).toContain('  flaky      wobbly  2/2 → 1/2\n');
  });

  test('distinguish planned trials from reruns', () => {
    const sums = '1 trial of the baseline, 1 of the candidate, and 10 trials of single cases that were run again';
    expect(told(withReruns())).toContain(sums);
    expect(markdown(withReruns())).toContain(sums);
  });

  test('show the pass rate of each side with its interval', () => {
    const rates = 'baseline 100 % (88.6 % to 100 %), candidate 96.7 %';
    expect(told(withSuspect())).toContain(`pass rate: ${rates}`);
    expect(markdown(withSuspect())).toContain(`**Pass rate:** ${rates}`);
  });

  test('differ in the command that reruns suspects: only Markdown prints it, with placeholders', () => {
    expect(told(withSuspect())).not.toContain('BASELINE NEW');
    expect(markdown(withSuspect())).toContain(
      '**To settle it:** run the suspect cases again with `proctor compare BASELINE NEW --again`',
    );
  });
});

describe('the page', () => {
  test('lists the first fifty findings and counts all', () => {
    const found = withSuspect();
    const [one] = found.decision?.suspects ?? [];
    const suspects = Array.from({ length: 60 }, (_, index) => ({ ...one, case_id: `refund-${index}` }));
    const grounds = pageGrounds({ ...found, decision: { ...found.decision, suspects } } as Comparison);
    expect(grounds?.findings).toHaveLength(50);
    expect(grounds?.found).toBe(60);
  });

  test('counts trials by their letters, ignoring those that do not count', () => {
    expect(tallyOf('ppp', 'pfe')).toBe('3/3 → 1/3');
    expect(tallyOf('ppn', 'pp')).toBe('2/2 → 2/2');
    expect(tallyOf('pp', 'nn')).toBeNull();
  });

  const rate = (low: number, high: number) => ({ rate: (low + high) / 2, low, high });
  test.each([
    [rate(0.886, 1), rate(0.833, 0.994), [0.8, 0.85, 0.9, 0.95, 1]],
    [rate(0, 0.3), rate(0.2, 1), [0, 0.2, 0.4, 0.6, 0.8, 1]],
    [rate(0.9962, 1), rate(0.9958, 1), [0.99, 1]],
    [rate(1, 1), rate(1, 1), [0.99, 1]],
    [rate(0, 0), rate(0, 0), [0, 0.01]],
  ])('draws intervals %j and %j over an axis of whole steps', (baseline, fresh, ticks) => {
    expect(axisOf([baseline, fresh])).toEqual({ from: ticks[0], to: ticks.at(-1), ticks });
  });
});

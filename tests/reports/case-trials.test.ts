import { describe, expect, test } from 'vitest';
import { htmlReport } from '../../src/reports/html.ts';
import type { Coverage, PageCase, PageTrialDocument } from '../../src/reports/page-data.ts';
import type { ReportInput } from '../../src/reports/report-input.ts';
import { reportWorld, withTrials } from './report-world.ts';

const pageOf = (input: ReportInput): string => [...htmlReport(input)].join('');

function dataIn(page: string, id: string): unknown {
  const start = `<script type="application/json" id="${id}">`;
  const from = page.indexOf(start);
  if (from < 0) return undefined;
  return JSON.parse(page.slice(from + start.length, page.indexOf('</script', from + start.length)));
}

const trialIn = (page: string, id: string) => dataIn(page, id) as PageTrialDocument | undefined;

describe('the trials in a report', () => {
  test('are in elements of their own, for cases that need attention', () => {
    const page = pageOf(withTrials(reportWorld({ cases: 20, regressed: 2, trials: 4 })));
    expect(trialIn(page, 'case-0-new-3')?.artifact?.final_output?.content).toContain('Trial 3 of new.');
    expect(trialIn(page, 'case-1-baseline-4')?.artifact?.final_output?.content).toContain('Trial 4 of baseline.');
    expect(trialIn(page, 'case-0-new-1')).toBeUndefined();
    expect(trialIn(page, 'case-2-new-2')).toBeUndefined();
    expect((dataIn(page, 'coverage') as Coverage).trials).toEqual({ held: 12, wanted: 12 });
  });

  test('are stored once if they equal the trial that the case shows first, with their own attempts', () => {
    const page = pageOf(withTrials(reportWorld({ cases: 1, regressed: 1, trials: 2 })));
    const same = trialIn(page, 'case-0-new-2');
    expect(same).toMatchObject({ artifact: null, same: true });
    expect(same?.attempts?.[0]?.started_at).toBe('2026-01-06T12:02:30.000Z');
  });

  test('are not read for cases that need no attention or have one trial', () => {
    const read: string[] = [];
    const world = withTrials(reportWorld({ cases: 30, regressed: 1, trials: 3 }));
    pageOf({
      ...world,
      trial: (id, side, number) => {
        read.push(`${id} ${side} ${number}`);
        return world.trial?.(id, side, number);
      },
    });
    expect(new Set(read.map(one => one.split(' ')[0]))).toEqual(new Set(['refunds-00001']));
    expect(read).toHaveLength(6);
  });

  test('leave a report of 10,000 cases with 200 regressions below 4 MB, and say how many are in it', () => {
    const page = pageOf(
      withTrials(reportWorld({ cases: 10_000, regressed: 200, improved: 12, flaky: 6, missing: 9, trials: 3 })),
    );
    expect(Buffer.byteLength(page)).toBeLessThanOrEqual(4_000_000);
    const { trials } = dataIn(page, 'coverage') as Coverage;
    expect(trials?.wanted).toBe(890);
    expect(trials?.held).toBeGreaterThan(20);
    expect(page.split(/id="case-\d+-(?:new|baseline)-/).length - 1).toBe(trials?.held);
  });

  test('are at most 20 per side and case, and never exceed the size limit of the page', () => {
    const many = pageOf(withTrials(reportWorld({ cases: 1, regressed: 1, trials: 40 })));
    expect((dataIn(many, 'coverage') as Coverage).trials).toEqual({ held: 40, wanted: 78 });
    const bytesMax = 260_000;
    const world = withTrials(reportWorld({ cases: 30, regressed: 30, trials: 9 }));
    const small = pageOf({ ...world, bytesMax });
    expect(Buffer.byteLength(small)).toBeLessThanOrEqual(bytesMax);
  });
});

describe('a changed case', () => {
  const world = reportWorld({ cases: 1, regressed: 1 });
  const [one] = world.comparison.cases;
  const changed = {
    ...world,
    comparison: {
      ...world.comparison,
      cases: [
        {
          ...one,
          changed: { differences: [{ what: 'looser', at: 'expected.contains', baseline: 'EUR', new: null }] },
        },
      ] as typeof world.comparison.cases,
    },
  };

  test('has the input and the expectations of the baseline', () => {
    const { case: is } = world.pairs('refunds-00001');
    const was = is && { ...is, input: { user: 'Before' }, expected: { contains: ['EUR', 'refund'] } };
    const page = pageOf({ ...changed, pairs: id => ({ ...world.pairs(id), was }) });
    expect((dataIn(page, 'case-0') as PageCase).was).toEqual({
      input: { user: 'Before' },
      expected: { contains: ['EUR', 'refund'] },
    });
  });

  test('says if the baseline’s version is not available, and an unchanged case has none', () => {
    expect((dataIn(pageOf(changed), 'case-0') as PageCase).was).toBeNull();
    expect((dataIn(pageOf(world), 'case-0') as PageCase).was).toBeUndefined();
  });
});

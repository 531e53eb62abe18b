import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventRows } from '../../src/contracts/artifacts/event-rows.ts';
import type { CaseArtifact, Event } from '../../src/contracts/artifacts/index.ts';
import type { Divergence } from '../../src/contracts/comparison/index.ts';
import { caseJson } from '../../src/reports/case-json.ts';
import { CASE_EVENTS_MAX } from '../../src/reports/kept-steps.ts';
import type { PageCase, PageStep, ShownStep } from '../../src/reports/page-data.ts';
import { firstDivergence, folded, isOmitted, placesOf, stepsOfCase } from '../../web/report/align.ts';
import { sideReader } from '../../web/report/step-view.ts';
import { EVENT_CASE, eventsOfActs, eventWorld, lookups } from './event-world.ts';

const other = { tool: 'kb.search', args: { text: 'refunds' } };
const pageCaseOf = (baseline: readonly Event[], candidate: readonly Event[], cites?: string[]): PageCase => {
  const world = eventWorld(baseline, candidate);
  const [compared] = world.comparison.cases;
  const divergence = compared?.divergence ?? null;
  const judged = {
    trials: { baseline: [], new: [] },
    assertions: (cites ?? []).map(at => ({ name: 'tool_called', status: 'fail' as const, message: 'Not called.', at })),
    divergence,
    changes: [],
  };
  return JSON.parse(caseJson(world, EVENT_CASE, judged)) as PageCase;
};
const shown = (steps: readonly PageStep[]): ShownStep[] => steps.flatMap(step => (isOmitted(step) ? [] : step));
const omitted = (steps: readonly PageStep[]) => steps.flatMap(step => (isOmitted(step) ? step : []));

describe('a page with all events', () => {
  test('aligns them as the judge does, and marks the row that the comparison cites', () => {
    const acts = lookups(20);
    const fresh = acts.with(7, other).toSpliced(3, 1);
    const [baseline, candidate] = [eventsOfActs(acts), eventsOfActs(fresh)];
    const data = pageCaseOf(baseline, candidate);
    expect(data.steps).toBeNull();
    const steps = stepsOfCase(data, false);
    expect(steps).toEqual(eventRows({ events: baseline }, { events: candidate }));
    const row = shown(steps)[firstDivergence(steps, data)];
    expect(row && placesOf(row)).toEqual(expect.arrayContaining([data.divergence?.cites[0]]));
  });

  test('marks no row if the comparison cites the output or a failure', () => {
    const events = eventsOfActs(lookups(3));
    const at = { baseline_at: 'final_output', new_at: 'final_output' };
    const divergence: Divergence = { kind: 'output', says: '', confidence: 'low', cites: [], ...at };
    const steps = eventRows({ events }, { events: events.slice(2) });
    expect(firstDivergence(steps, { divergence })).toBe(-1);
    expect(firstDivergence(steps, { divergence: { ...divergence, baseline_at: null, new_at: 'runner_failure' } })).toBe(
      -1,
    );
    expect(firstDivergence(steps, { divergence: null })).toBe(0);
  });
});

describe('a page without some events', () => {
  test('keeps the first, the last and those around the first divergence, by their own index', () => {
    const acts = lookups(2_000);
    const [baseline, candidate] = [eventsOfActs(acts), eventsOfActs(acts.with(1_000, other))];
    const data = pageCaseOf(baseline, candidate, ['events[812].args']);
    const steps = stepsOfCase(data, false);
    const indices = shown(steps).flatMap(row => row.candidate);
    expect(indices).toEqual(expect.arrayContaining([0, 1, 812, 813, 1_998, 2_000, 2_001, 2_002, 3_998, 3_999]));
    expect(indices.length).toBeLessThanOrEqual(CASE_EVENTS_MAX);
    expect(indices.length + omitted(steps).reduce((sum, gap) => sum + gap.omitted.candidate, 0)).toBe(4_000);
    expect(omitted(steps).map(({ differing }) => differing)).toEqual([0, 0, 0]);
    const row = steps[firstDivergence(steps, data)] as ShownStep;
    expect(row).toMatchObject({ how: 'changed', candidate: [2_000, 2_001] });
    const view = sideReader(data.new).view(row.candidate);
    expect(view?.events[0]).toEqual(candidate[2_000]);
    expect(data.cuts).toContain('This page shows 600 of 4000 events of the candidate.');
  });

  test('says how many of the missing steps differ', () => {
    const acts = lookups(1_000);
    const fresh = acts.map((act, index) => (index % 2 === 0 ? act : other));
    const steps = stepsOfCase(pageCaseOf(eventsOfActs(acts), eventsOfActs(fresh)), false);
    const differing = omitted(steps).reduce((sum, gap) => sum + (gap.differing ?? 0), 0);
    expect(differing + shown(steps).filter(({ how }) => how !== 'same').length).toBe(500);
  });

  test('keeps the first and last attempts of a call with many, and counts the others', () => {
    const failed = { tool: 'orders.get', args: {}, result: 'down', status: 'error' } as const;
    const data = pageCaseOf(eventsOfActs([]), eventsOfActs(Array.from({ length: 2_000 }, () => failed)));
    const [row] = shown(stepsOfCase(data, false));
    expect(row?.candidate).toEqual(expect.arrayContaining([0, 1, 3_998, 3_999]));
    expect((row?.candidate.length ?? 0) + (row?.clipped ?? 0)).toBe(4_000);
    expect(data.new?.events).toHaveLength(row?.candidate.length ?? -1);
  });

  test('aligns streams that were shortened before, and says where events are missing', () => {
    const events = eventsOfActs(lookups(6));
    const artifact = {
      events: [...events.slice(0, 4), ...events.slice(8)],
      events_kept: [
        [0, 4],
        [8, 12],
      ],
    };
    const steps = stepsOfCase(
      { baseline: null, new: artifact as unknown as PageCase['new'], steps: null, shown: {} },
      true,
    );
    expect(steps.map(step => (isOmitted(step) ? step.omitted : step.candidate))).toEqual([
      [0, 1],
      [2, 3],
      { baseline: 0, candidate: 4 },
      [8, 9],
      [10, 11],
    ]);
  });

  test('aligns another trial itself', () => {
    const acts = lookups(2_000);
    const data = pageCaseOf(eventsOfActs(acts), eventsOfActs(acts.with(1_000, other)));
    const again = {
      ...data,
      new: data.baseline,
      shown: { ...data.shown, new: 'suite_20260106_120900_7c2e91d0a4b8.2' },
    };
    expect(shown(stepsOfCase(again, false)).every(({ how }) => how === 'same')).toBe(true);
    expect(shown(stepsOfCase(data, false)).every(({ how }) => how === 'same')).toBe(false);
  });

  test('holds truncated texts with the rows of the full ones', () => {
    const long = 'word '.repeat(20_000);
    const acts = (end: string) => [{ tool: 'mail.send', args: { text: `${long}${end}` } }];
    const data = pageCaseOf(eventsOfActs(acts('yes')), eventsOfActs(acts('nay')));
    expect(data.baseline?.events?.[0]).toEqual(data.new?.events?.[0]);
    expect(stepsOfCase(data, false)).toMatchObject([{ how: 'changed' }]);
  });
});

describe('a fold', () => {
  const rows = (hows: string): ShownStep[] =>
    hows.split('').map((how, index) => ({
      baseline: [index],
      candidate: [index],
      how: how === '.' ? 'same' : 'changed',
    }));
  const sketch = (hows: string): string =>
    folded(rows(hows), ({ how }) => how !== 'same')
      .map(item =>
        'rows' in item ? `(${item.rows.length})` : isOmitted(item.step) ? '?' : item.step.how === 'same' ? '.' : 'x',
      )
      .join('');

  test('hides equal steps, except two next to each difference', () => {
    expect(sketch('..........x...........x')).toBe('(8)..x..(7)..x');
  });

  test('hides nothing if that saves fewer than four rows', () => {
    expect(sketch('.....x.......x...')).toBe('.....x.......x...');
  });

  test('leaves the first and last step if none differs', () => {
    expect(sketch('............')).toBe('.(10).');
    expect(sketch('....')).toBe('....');
    expect(sketch('')).toBe('');
  });

  test('keeps every row once and in order', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('.', '.', '.', '.', 'x'), { maxLength: 60 }), hows => {
        const items = folded(rows(hows.join('')), ({ how }) => how !== 'same');
        const indices = items.flatMap(item => ('rows' in item ? item.rows.map((_, by) => item.at + by) : item.at));
        expect(indices).toEqual([...hows.keys()]);
      }),
      { seed: 17 },
    );
  });
});

describe('the time axis', () => {
  const artifact = (events: Event[], repairs?: Record<string, number>): CaseArtifact =>
    ({ events, attempts: [{ attempt: 1, outcome: 'ok', ...(repairs && { repairs }) }] }) as unknown as CaseArtifact;
  const events = eventsOfActs([
    { tool: 'a', args: {}, tookMs: 100 },
    { tool: 'b', args: {}, tookMs: 50 },
  ]);

  test('places a call between its two events', () => {
    const reader = sideReader(artifact(events));
    expect(reader.lastsMs).toBe(165);
    expect(reader.view([2, 3])).toMatchObject({ tookMs: 50, span: { from: 115, to: 165 } });
  });

  test('has no bar for a call without a result', () => {
    expect(sideReader(artifact(events.slice(0, 3))).view([2])).toMatchObject({
      status: 'no result',
      span: null,
      tookMs: null,
    });
  });

  test.each([
    ['times are positions', events.map((event, ts) => ({ ...event, ts })), undefined],
    ['Proctor filled in times', events, { R1: 1 }],
    ['times run backwards', events.toReversed(), undefined],
  ])('does not exist if %s', (_, unclear, repairs) => {
    const reader = sideReader(artifact(unclear, repairs));
    expect(reader.lastsMs).toBeNull();
    expect(reader.view([0, 1])?.span).toBeNull();
  });

  test('states no duration that Proctor filled in', () => {
    expect(sideReader(artifact(events, { R9: 1 })).view([0, 1])?.tookMs).toBeNull();
  });
});

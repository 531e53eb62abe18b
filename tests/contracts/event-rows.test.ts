import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type EventRow, eventRows } from '../../src/contracts/artifacts/event-rows.ts';
import type { CaseArtifact, Event } from '../../src/contracts/artifacts/index.ts';
import { matchSteps, type PairOfSteps } from '../../src/contracts/artifacts/match-steps.ts';
import { type Step, stepsOf } from '../../src/contracts/artifacts/steps.ts';
import { firstDifference } from '../../src/judge/causes/divergence.ts';
import { otherOutcome } from '../../src/judge/causes/step-changes.ts';

const call = (tool: string, args: object, call_id = 'a'): Event => ({
  type: 'tool_call',
  ts: 1,
  call_id,
  tool,
  args: { ...args },
});
const result = (call_id: string, payload: string, status: 'ok' | 'error' = 'ok'): Event => ({
  type: 'tool_result',
  ts: 2,
  call_id,
  status,
  latency_ms: 3,
  payload_summary: payload,
});
const aligned = (baseline: Event[], candidate: Event[]): EventRow[] =>
  eventRows({ events: baseline }, { events: candidate });

describe('a row', () => {
  test('holds a call and its result, whatever their ids and times', () => {
    expect(
      aligned(
        [call('get', { id: 1 }, 'a'), result('a', 'x')],
        [{ ...call('get', { id: 1 }, 'zz'), ts: 99 }, result('zz', 'x')],
      ),
    ).toEqual([{ baseline: [0, 1], candidate: [0, 1], how: 'same' }]);
  });

  test('pairs calls to one tool across inserted steps', () => {
    expect(
      aligned(
        [call('get', { id: 1 }), call('pay', { sum: 5 }, 'b'), result('b', 'x'), result('a', 'x')],
        [call('search', {}, 's'), result('s', 'x'), call('get', { id: 2 }), result('a', 'x'), call('pay', { sum: 5 })],
      ),
    ).toEqual([
      { baseline: [], candidate: [0, 1], how: 'added' },
      { baseline: [0, 3], candidate: [2, 3], how: 'changed' },
      { baseline: [1, 2], candidate: [4], how: 'outcome' },
    ]);
  });

  test('holds all attempts of a call that failed and was repeated', () => {
    const once = [call('get', {}), result('a', 'x')];
    const twice = [call('get', {}, 'f'), result('f', 'down', 'error'), ...once];
    expect(aligned(once, twice)).toEqual([{ baseline: [0, 1], candidate: [0, 1, 2, 3], how: 'outcome' }]);
  });

  test('is separate for a step that moved, and names its counterpart', () => {
    const [a, b, c] = ['a', 'b', 'c'].map(id => [call(id, {}, id), result(id, id)]) as [Event[], Event[], Event[]];
    expect(aligned([...a, ...b, ...c], [...b, ...c, ...a])).toEqual([
      { baseline: [0, 1], candidate: [], how: 'moved', elsewhere: 4 },
      { baseline: [2, 3], candidate: [0, 1], how: 'same' },
      { baseline: [4, 5], candidate: [2, 3], how: 'same' },
      { baseline: [], candidate: [4, 5], how: 'moved', elsewhere: 0 },
    ]);
  });

  test('pairs concurrent calls regardless of their order', () => {
    const [a, b] = [call('a', {}, 'a'), call('b', {}, 'b')];
    const results = [result('a', 'x'), result('b', 'y')];
    expect(aligned([a, b, ...results], [b, a, ...results]).map(({ how }) => how)).toEqual(['same', 'same']);
  });

  test('shows events of unknown types, which are never a difference', () => {
    const thought = (text: string): Event => ({ type: 'thought', ts: 5, text });
    expect(
      aligned([thought('hm'), call('get', {}), thought('old')], [thought('hm'), call('get', {}), thought('new')]),
    ).toEqual([
      { baseline: [0], candidate: [0], how: 'same' },
      { baseline: [1], candidate: [1], how: 'same' },
      { baseline: [2], candidate: [], how: 'ignored' },
      { baseline: [], candidate: [2], how: 'ignored' },
    ]);
  });
});

describe('rows of random streams', () => {
  const ids = fc.constantFrom('p', 'q', 'r');
  const event: fc.Arbitrary<Event> = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(2), ids).map(([t, n, id]) => call(t, { n }, id)),
    },
    {
      weight: 4,
      arbitrary: fc
        .tuple(ids, fc.constantFrom('x', 'y', '2026-01-06T12:00:00Z', '2026-01-07T12:00:00Z'), fc.boolean())
        .map(([id, payload, ok]) => result(id, payload, ok ? 'ok' : 'error')),
    },
    fc.constantFrom('hm', 'so').map((text): Event => ({ type: 'thought', ts: 5, text })),
    fc
      .tuple(fc.constantFrom('cups', 'plates'), fc.subarray(['d1', 'd2']))
      .map(([query, doc_ids]): Event => ({ type: 'retrieval', ts: 6, query, doc_ids })),
    fc
      .constantFrom('done', 'no')
      .map((content): Event => ({ type: 'final_output', ts: 9, content_type: 'text', content })),
  );
  const streams = fc.array(event, { maxLength: 30 });
  const SEEDED = { seed: 17, numRuns: 300 };
  const inOrder = (indices: readonly number[]): number[] => indices.toSorted((a, b) => a - b);

  test('hold every event of both sides exactly once, in the order of each side', () => {
    fc.assert(
      fc.property(streams, streams, (baseline, candidate) => {
        const rows = aligned(baseline, candidate);
        for (const [side, events] of [['baseline', baseline] as const, ['candidate', candidate] as const]) {
          expect(inOrder(rows.flatMap(row => row[side]))).toEqual([...events.keys()]);
          // Calls that were open at the same time have no order of their own.
          const steps = stepsOf({ events });
          const places = rows.flatMap(row => steps.findIndex(({ at }) => at === row[side][0])).filter(at => at >= 0);
          expect(places).toEqual([...steps.keys()]);
          const others = rows.flatMap(row => row[side]).filter(index => events[index]?.type === 'thought');
          expect(others).toEqual(inOrder(others));
        }
      }),
      SEEDED,
    );
  });

  test('agree with the matching of the judge', () => {
    const names = { was: 'the baseline', is: 'The candidate' };
    fc.assert(
      fc.property(streams, streams, (baseline, candidate) => {
        const [before, now] = [stepsOf({ events: baseline }), stepsOf({ events: candidate })];
        const matched = matchSteps(before, now);
        const rows = aligned(baseline, candidate);
        const at = (steps: readonly Step[], index: number): number => (steps[index] as Step).at;
        const having = (hows: readonly string[]): string[] =>
          rows
            .filter(({ how }) => hows.includes(how))
            .flatMap(({ baseline: [was], candidate: [is], elsewhere }) =>
              was === undefined && elsewhere !== undefined ? [] : `${was} ${is ?? elsewhere}`,
            )
            .toSorted();
        const expected = (pairs: readonly PairOfSteps[]): string[] =>
          pairs.map(([i, j]) => `${at(before, i)} ${at(now, j)}`).toSorted();
        const isThought = (row: EventRow): boolean => baseline[row.baseline[0] ?? -1]?.type === 'thought';
        const thoughts = rows.filter(isThought).filter(({ how }) => how === 'same');
        expect(having(['same', 'passing', 'outcome'])).toEqual(
          [...expected(matched.same), ...thoughts.map(row => `${row.baseline[0]} ${row.candidate[0]}`)].toSorted(),
        );
        for (const how of ['changed', 'replaced', 'moved'] as const)
          expect(having([how])).toEqual(expected(matched[how]));
        expect(rows.filter(({ how }) => how === 'gone').map(row => row.baseline[0])).toEqual(
          matched.gone.map(index => at(before, index)),
        );
        expect(rows.filter(({ how }) => how === 'added').map(row => row.candidate[0])).toEqual(
          matched.come.map(([index]) => at(now, index)),
        );
        for (const [i, j] of matched.same) {
          const row = rows.find(row => row.baseline[0] === at(before, i));
          const isOther = otherOutcome(before[i] as Step, now[j] as Step, new Set(), names) !== undefined;
          // The judge ignores ids and times in a result without a call.
          const isEqual = row?.how === 'same' || (row?.how === 'passing' && before[i]?.kind === 'reply');
          expect(isEqual).toBe(!isOther);
        }
      }),
      SEEDED,
    );
  });

  test('contain one that differs for every difference that the judge cites', () => {
    fc.assert(
      fc.property(streams, streams, (baseline, candidate) => {
        const artifacts = [baseline, candidate].map(events => ({ events }) as CaseArtifact) as [
          CaseArtifact,
          CaseArtifact,
        ];
        const found = firstDifference(...artifacts);
        const { baselineAt = null, newAt = null, kind } = found ?? {};
        const rows = aligned(baseline, candidate);
        const cited = rows.find(
          row =>
            row.baseline.some(index => baselineAt === `events[${index}]`) ||
            row.candidate.some(index => newAt === `events[${index}]`),
        );
        // Concurrency is a difference between two rows, each of which may be the same on both sides.
        if (kind !== 'tool_concurrency') expect(found === undefined || cited?.how !== 'same').toBe(true);
        expect(found === undefined).toBe(cited === undefined);
      }),
      SEEDED,
    );
  });
});

test('aligns streams of 20,000 calls, and a call with 10,000 attempts', () => {
  const long = (word: string): Event[] =>
    Array.from({ length: 20_000 }, (_, index) => call(`${word}${index % 7}`, { index }));
  expect(aligned(long('a'), long('b'))).toHaveLength(20_000);
  const retried = Array.from({ length: 20_000 }, (_, index) =>
    index % 2 === 0 ? call('get', {}, `${index}`) : result(`${index - 1}`, 'down', 'error'),
  );
  expect(aligned([], retried)).toHaveLength(1);
});

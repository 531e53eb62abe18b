import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rowList } from '../../src/base/row-list.ts';
import type { PageRow } from '../../src/reports/page-data.ts';
import { addressOf, hrefOf, NO_FILTERS } from '../../web/report/address.ts';
import { against, pace } from '../../web/shared/format.ts';
import { histogramOf } from '../../web/shared/histogram.ts';
import { anchorOf, spaced } from '../../web/shared/axis-labels.ts';
import { type Chosen, selected } from '../../src/reports/rows/selection.ts';
import { stretches } from '../../web/shared/text-diff.ts';
import { ABSENT, leavesOf } from '../../web/shared/value-diff.ts';

describe('values', () => {
  test('are compared key by key, and a value on one side only is shown whole', () => {
    const { leaves } = leavesOf({ id: 'A', list: [1, 2], only: { deep: 1 } }, { id: 'B', list: [1, 3], more: null });
    expect(
      leaves.filter(({ same }) => !same).map(({ path, baseline, candidate }) => [path, baseline, candidate]),
    ).toEqual([
      ['id', 'A', 'B'],
      ['list[1]', 2, 3],
      ['only', { deep: 1 }, ABSENT],
      ['more', ABSENT, null],
    ]);
  });

  test('do not differ from themselves', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        expect(leavesOf(value, structuredClone(value)).leaves.filter(({ same }) => !same)).toEqual([]);
      }),
    );
  });
});

describe('texts', () => {
  test('are complete on both sides', () => {
    const text = fc.array(fc.constantFrom('one', 'two', 'three', 'four', ' ', '\n', '.')).map(words => words.join(''));
    fc.assert(
      fc.property(text, text, (baseline, candidate) => {
        const parts = stretches(baseline, candidate);
        if (!parts) return;
        expect(
          parts
            .filter(({ on }) => on !== 'new')
            .map(({ text }) => text)
            .join(''),
        ).toBe(baseline);
        expect(
          parts
            .filter(({ on }) => on !== 'baseline')
            .map(({ text }) => text)
            .join(''),
        ).toBe(candidate);
      }),
    );
  });

  test('with little in common are not compared word by word', () => {
    expect(stretches('The refund was paid today.', '<html><p>Error 500</p></html>')).toBeUndefined();
  });
});

describe('rows', () => {
  const rows: PageRow[] = [
    ['b-1', 'Refund of a cup', 'regressed', 0, 'p', 'f', -1, 100, 300, 0.1, 0.1, 'No amount.'],
    ['a-2', 0, 'same', 1, 'p', 'p', -1, 100, 90, null, null, 0],
    ['c-3', 'Parcel', 'regressed', 1, 'p', 'e', 0, 100, null, null, null, 0],
  ];
  const facets = (of: Record<string, number[]>) => ({
    listed: Object.entries(of).map(([text, rows]) => ({ text, count: rows.length, rows: rowList(rows) })),
    more: 0,
  });
  const head = {
    suites: ['refunds', 'shipping'],
    error_classes: ['timeout'],
    causes: {
      listed: [
        { concern: 'regressed', text: 'runner: timeout', count: 1, rows: rowList([2]) },
        { concern: 'flaky', text: 'runner: timeout', count: 1, rows: rowList([1]) },
      ],
      more: 0,
      more_cases: 0,
    },
    expectations: facets({ contains: [0, 2] }),
    tags: facets({ money: [0, 1], night: [1] }),
    severities: facets({ high: [2] }),
  } as const;
  const none: Chosen = { ...NO_FILTERS, sort: '' };
  test.each<[string, Partial<Chosen>, number[]]>([
    ['nothing', {}, [0, 1, 2]],
    ['a change', { change: 'regressed' }, [0, 2]],
    ['two changes', { change: 'regressed,same' }, [0, 1, 2]],
    ['a verdict', { verdict: 'pass' }, [1]],
    ['an error class', { error: 'timeout' }, [2]],
    ['a suite', { suite: 'shipping' }, [1, 2]],
    ['a suite without cases', { suite: 'none' }, []],
    ['words in any field', { q: 'AMOUNT cup' }, [0]],
    ['a cause, with all its concerns', { cause: 'runner: timeout' }, [1, 2]],
    ['a cause and its concern', { cause: 'runner: timeout', change: 'regressed' }, [2]],
    ['an unknown cause', { cause: 'nothing' }, []],
    ['a failed expectation', { expectation: 'contains' }, [0, 2]],
    ['a tag', { tag: 'money' }, [0, 1]],
    ['a tag and a severity', { tag: 'money', severity: 'high' }, []],
    ['a severity', { severity: 'high' }, [2]],
    ['the id', { sort: 'id' }, [1, 0, 2]],
    ['the change in latency, unknown ones last', { sort: 'slower' }, [0, 1, 2]],
  ])('are filtered or sorted by %s', (_, filters, expected) => {
    expect(selected(rows, head, { ...none, ...filters })).toEqual(expected);
  });

  test('without a judged expectation do not count as passed', () => {
    const run: PageRow[] = [
      ['a', 0, 'pass', -1, '', 'p', -1, null, 1, null, null, 0],
      ['b', 0, 'unjudged', -1, '', 'p', -1, null, 1, null, null, 0],
    ];
    expect(selected(run, head, { ...none, verdict: 'pass' })).toEqual([0]);
    expect(selected(run, head, { ...none, verdict: 'unjudged' })).toEqual([1]);
  });
});

test('a page address survives a round trip through the URL hash', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (q, suite) => {
      const address = { ...addressOf(''), q, suite, case: 'a-1' };
      expect(addressOf(hrefOf(address))).toEqual(address);
    }),
  );
});

describe('labels on an axis', () => {
  test('do not overlap, even at the right edge', () => {
    const x = (value: number): number => 8 + value * 284;
    const label = (value: number): string => `$${value.toFixed(4)}`;
    const ticks = spaced([0, 0.2, 0.4, 0.6, 0.8, 0.9, 1], x, 300, label);
    const boxes = ticks.map(tick => {
      const long = label(tick).length * 6.5;
      const from = x(tick) - long * { start: 0, middle: 0.5, end: 1 }[anchorOf(x(tick), 300)];
      return [from, from + long] as const;
    });
    expect(ticks.length).toBeGreaterThan(2);
    for (const [index, [from]] of boxes.entries())
      if (index > 0) expect(from).toBeGreaterThan(boxes[index - 1]?.[1] ?? 0);
  });
});

describe('a change', () => {
  test.each([
    [100, 109, '9 % slower'],
    [100, 50, '50 % faster'],
    [100, 1_850, '18.5 × slower'],
    [100, 100.2, null],
    [null, 100, null],
  ] as const)('of time from %j to %j is %j', (from, to, says) => {
    expect(pace(from, to)).toBe(says);
  });

  test.each([
    [100, 68, '32 % below the baseline'],
    [100, 109, '9 % above the baseline'],
    [1, 20, '20 × the baseline'],
    [100, 100, 'same as the baseline'],
    [0, 5, null],
    [null, 5, null],
  ] as const)('from %j to %j says what it is relative to: %j', (from, to, says) => {
    expect(against(from, to)).toBe(says);
  });
});

describe('a histogram', () => {
  test('counts every value once', () => {
    const values = fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { maxLength: 200 });
    fc.assert(
      fc.property(values, values, (baseline, candidate) => {
        const histogram = histogramOf(Float64Array.from(baseline), Float64Array.from(candidate));
        if (!histogram) return;
        expect(histogram.bins.reduce((sum, bin) => sum + bin.baseline, 0)).toBe(baseline.length);
        expect(histogram.bins.reduce((sum, bin) => sum + bin.candidate, 0)).toBe(candidate.length);
      }),
    );
  });

  test('is undefined without values', () => {
    expect(histogramOf(new Float64Array(), new Float64Array())).toBeUndefined();
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PageRow } from '../../src/reports/page-data.ts';
import { addressOf, hashOf } from '../../web/report/address.ts';
import { histogramOf } from '../../web/shared/histogram.ts';
import { type Filters, selected } from '../../web/report/selection.ts';
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
  const head = { suites: ['refunds', 'shipping'], error_classes: ['timeout'] };
  const none: Filters = { change: '', verdict: '', error: '', suite: '', q: '', sort: '' };
  test.each<[string, Partial<Filters>, number[]]>([
    ['nothing', {}, [0, 1, 2]],
    ['a change', { change: 'regressed' }, [0, 2]],
    ['two changes', { change: 'regressed,same' }, [0, 1, 2]],
    ['a verdict', { verdict: 'pass' }, [1]],
    ['an error class', { error: 'timeout' }, [2]],
    ['a suite', { suite: 'shipping' }, [1, 2]],
    ['a suite without cases', { suite: 'none' }, []],
    ['words in any field', { q: 'AMOUNT cup' }, [0]],
    ['the id', { sort: 'id' }, [1, 0, 2]],
    ['the change in latency, unknown ones last', { sort: 'slower' }, [0, 1, 2]],
  ])('are filtered or sorted by %s', (_, filters, expected) => {
    expect(selected(rows, head, { ...none, ...filters })).toEqual(expected);
  });
});

test('a page address survives a round trip through the URL hash', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (q, suite) => {
      const address = { ...addressOf(''), q, suite, case: 'a-1' };
      expect(addressOf(hashOf(address))).toEqual(address);
    }),
  );
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

import fc from 'fast-check';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { eachRow, rowList } from '../../src/base/row-list.ts';
import { eachWord } from '../../src/base/search-words.ts';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import { htmlReport } from '../../src/reports/html.ts';
import type { PageIndex } from '../../src/reports/page-data.ts';
import { SearchIndex } from '../../src/reports/search-index.ts';
import { Search } from '../../src/reports/rows/search.ts';
import { coveredText } from '../../web/report/searched-text.ts';
import { reportWorld } from './report-world.ts';

const wordsIn = (text: string): string[] => {
  const words: string[] = [];
  eachWord(text, word => words.push(word));
  return words;
};

const rowsOf = (text: string): number[] => {
  const rows: number[] = [];
  eachRow(text, row => rows.push(row));
  return rows;
};

const answer = (content: string, ...tools: string[]): CaseArtifact => ({
  schema_version: 'case.v1',
  case_id: 'a',
  version: 'new',
  status: 'ok',
  events: tools.map((tool, ts) => ({ type: 'tool_call', ts, call_id: `${ts}`, tool, args: {} })),
  final_output: { content_type: 'text', content },
});

describe('the outputs of unchanged cases', () => {
  const further = vi.fn((): { new: CaseArtifact } | undefined => ({ new: answer('an unchanged answer', 'kb.search') }));
  const indexOf = (cases: number): PageIndex => {
    const html = [...htmlReport({ ...reportWorld({ cases, regressed: 1 }), further })].join('');
    return JSON.parse(/id="words">([^<]*)</.exec(html)?.[1] ?? 'null') as PageIndex;
  };
  beforeEach(() => further.mockClear());

  test('are searched in a suite of 400 cases', () => {
    const index = indexOf(400);
    expect([index.answers, further.mock.calls.length]).toEqual([400, 199]);
    expect(new Search(index).marks('unchanged', 400).filter(mark => mark === 1)).toHaveLength(199);
  });

  test('are searched until the source returns no more', () => {
    for (let reads = 0; reads < 10; reads++) further.mockReturnValueOnce({ new: answer('an unchanged answer') });
    further.mockReturnValueOnce(undefined);
    expect([indexOf(400).answers, further.mock.calls.length]).toEqual([211, 11]);
  });

  test('are not read in a suite of more than 1,000 cases', () => {
    expect(indexOf(1_001).answers).toBe(201);
    expect(further).not.toHaveBeenCalled();
  });
});

describe('row numbers', () => {
  test('survive a round trip, dense or sparse', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.oneof(fc.nat(200), fc.nat(100_000)), { maxLength: 300 }), rows => {
        const sorted = rows.toSorted((a, b) => a - b);
        expect(rowsOf(rowList(sorted))).toEqual(sorted);
      }),
    );
  });

  test('need at most one bit per row, and no escaping', () => {
    const all = Array.from({ length: 6_000 }, (_, row) => row);
    expect(rowList(all).length).toBeLessThanOrEqual(1_001);
    expect(rowList([5, 70, 9_999])).toMatch(/^[\w-]+$/);
  });
});

describe('words', () => {
  test.each([
    ['Where is my parcel A-1000?', ['where', 'is', 'my', 'parcel', 'a-1000']],
    ['orders.get, kb/search.', ['orders.get', 'kb/search']],
    ['Größe ÉTÉ naïve', ['größe', 'été', 'naïve']],
    ['返金 ok', ['返', '金', 'ok']],
    ['a b 7 -- ...', []],
  ])('of %j', (text, words) => {
    expect(wordsIn(text)).toEqual(words);
  });

  test('are cut to 48 characters', () => {
    expect(wordsIn('x'.repeat(100))).toEqual(['x'.repeat(48)]);
  });
});

describe('the search index', () => {
  const index = new SearchIndex();
  index.addAnswers(0, [answer('Refunded 20 EUR', 'payments.refund'), answer('Refused', 'orders.get')]);
  index.addInput(0, { user: 'Where is my parcel A-1000?' });
  index.addInput(1, { user: 'I was charged twice', context: { order: ['A-2000', { deep: 'needle' }], count: 42 } });
  const written = index.written(100_000);
  const search = new Search(written);
  const found = (text: string): number[] =>
    [...search.marks(text, 2).entries()].flatMap(([row, hit]) => (hit ? row : []));

  test.each([
    ['parcel', [0]],
    ['EUR', [0]],
    ['refused', [0]],
    ['payments.ref', [0]],
    ['needle', [1]],
    ['a-', [0, 1]],
    ['42', [1]],
    ['charged twice', [1]],
    ['charged parcel', []],
    ['“twice”,', [1]],
    ['nothing', []],
    ['', []],
  ])('finds inputs, outputs and tools by parts of words: %j', (text, rows) => {
    expect(found(text)).toEqual(rows);
  });

  test('says what it covers', () => {
    expect(written).toMatchObject({ inputs: 2, answers: 1, left_out: 0, chars_max: 4_000 });
    expect(coveredText(written, 2)).toBe(
      'Searches ids, titles, reasons and inputs of all cases, and outputs and tools of 1 case, up to 4,000 characters of each. Outputs and tools of 1 other case are not searched.',
    );
    expect(coveredText({ ...written, answers: 2 }, 2)).toMatch(
      /outputs and tools of all cases, up to 4,000 characters of each\.$/,
    );
    expect(coveredText({ ...written, inputs: 1, left_out: 3 }, 2)).toBe(
      'Searches ids, titles and reasons of all cases, and inputs of 1 case and outputs and tools of 1 case, up to 4,000 characters of each. Outputs and tools of 1 other case are not searched. Does not find 3 frequent words that did not fit into this page.',
    );
  });

  test('leaves out frequent words first if it is too large, and counts them', () => {
    const large = new SearchIndex();
    for (let row = 0; row < 1_000; row++) large.addInput(row, { user: `common words everywhere and unique-${row}` });
    expect(large.written(1_000_000).left_out).toBe(0);
    let bytesMax = 30_000;
    while (large.written(bytesMax).left_out === 0) bytesMax -= 50;
    const small = large.written(bytesMax);
    expect(small.words.length + small.rows.length).toBeLessThanOrEqual(bytesMax);
    expect(small.left_out).toBeLessThanOrEqual(4);
    const marks = (word: string): number => new Search(small).marks(word, 1_000).filter(mark => mark === 1).length;
    expect(marks('unique-777')).toBe(1);
    expect(['common', 'words', 'everywhere', 'and'].filter(word => marks(word) === 0)).toHaveLength(small.left_out);
  });

  test('covers the outputs and tools of at most 1,000 cases, the most urgent first', () => {
    const many = new SearchIndex();
    for (let row = 0; row < 1_200; row++) many.addAnswers(row, [answer(`number-${row}`)]);
    const bounded = many.written(1_000_000);
    expect(bounded.answers).toBe(1_000);
    const hits = (word: string): number => new Search(bounded).marks(word, 1_200).filter(mark => mark === 1).length;
    expect([hits('number-999'), hits('number-1100')]).toEqual([1, 0]);
  });

  test('searches only the beginning of a long text', () => {
    const long = new SearchIndex();
    long.addInput(0, { user: `${'word '.repeat(2_000)} needle` });
    expect([...new Search(long.written(10_000)).marks('needle', 1)]).toEqual([0]);
  });

  test('keeps every word of any text', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 60 }), { minLength: 1, maxLength: 20 }), texts => {
        const any = new SearchIndex();
        for (const [row, text] of texts.entries()) any.addInput(row, { text });
        const read = new Search(JSON.parse(JSON.stringify(any.written(1_000_000))));
        for (const [row, text] of texts.entries())
          for (const word of wordsIn(text)) expect(read.marks(word, texts.length)[row]).toBe(1);
      }),
    );
  });
});

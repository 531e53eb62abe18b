import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type DiffLine,
  diffOfTexts,
  type DiffRow,
  foldedRows,
  rowsOfLines,
  unifiedRows,
} from '../../web/shared/diff-rows.ts';

const textOf = (line: DiffLine | undefined): string => line?.parts.map(({ text }) => text).join('') ?? '';
const marks = (line: DiffLine | undefined): string[] =>
  line?.parts.flatMap(({ text, isMarked }) => (isMarked ? [text] : [])) ?? [];
const linesOn = (side: 'baseline' | 'candidate', rows: readonly DiffRow[]): string =>
  rows.flatMap(row => (row[side] ? [textOf(row[side])] : [])).join('\n');

const numbered = (count: number, change: (index: number) => string = index => `line ${index}`): string =>
  Array.from({ length: count }, (_, index) => change(index)).join('\n');

describe('a text diff', () => {
  test('has every line of both texts once, in order, with its number', () => {
    const text = fc.array(fc.constantFrom('one', 'two', 'three', '', 'four five'), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(text, text, (before, now) => {
        const { rows } = diffOfTexts(before.join('\n'), now.join('\n'));
        expect(linesOn('baseline', rows)).toBe(before.join('\n'));
        expect(linesOn('candidate', rows)).toBe(now.join('\n'));
        expect(rows.flatMap(row => row.baseline?.number ?? [])).toEqual(before.map((_, at) => at + 1));
        expect(rows.flatMap(row => row.candidate?.number ?? [])).toEqual(now.map((_, at) => at + 1));
      }),
    );
  });

  test('marks the words that differ inside a changed line', () => {
    const { rows } = diffOfTexts('The refund is 20 EUR, paid today.', 'The refund is 30 EUR, paid today.');
    expect(rows).toHaveLength(1);
    expect([marks(rows[0]?.baseline), marks(rows[0]?.candidate)]).toEqual([['20'], ['30']]);
  });

  test('shows a carriage return and a last line break as differences', () => {
    expect(diffOfTexts('a\r\nb', 'a\nb').rows.map(({ how }) => how)).toEqual(['changed', 'same']);
    expect(diffOfTexts('a\n', 'a').rows.map(({ how }) => how)).toEqual(['same', 'gone']);
  });

  test('folds equal lines, except three next to each change', () => {
    const { rows } = diffOfTexts(
      numbered(60),
      numbered(60, index => (index === 30 ? 'other' : `line ${index}`)),
    );
    const items = foldedRows(rows);
    expect(items.map(item => ('fold' in item ? item.fold.length : item.how))).toEqual([
      27,
      ...Array<string>(3).fill('same'),
      'changed',
      ...Array<string>(3).fill('same'),
      26,
    ]);
  });

  test('folds nothing if a fold would hide fewer than four lines', () => {
    const { rows } = diffOfTexts(
      numbered(10),
      numbered(10, index => (index === 0 || index === 9 ? `${index} changed` : `line ${index}`)),
    );
    expect(foldedRows(rows).some(item => 'fold' in item)).toBe(false);
  });

  test('lists removed lines before added ones in one column', () => {
    const rows = unifiedRows(diffOfTexts('a\nb\nc\nd', 'a\nx\ny\nd').rows);
    expect(
      rows.map(item => ('fold' in item ? 'fold' : `${item.how} ${textOf(item.baseline ?? item.candidate)}`)),
    ).toEqual(['same a', 'gone b', 'gone c', 'added x', 'added y', 'same d']);
  });

  test('numbers lines whose sides are known from the given first numbers', () => {
    const rows = rowsOfLines(
      [
        { on: 'both', text: 'same' },
        { on: 'baseline', text: 'old' },
        { on: 'new', text: 'fresh' },
      ],
      { baseline: 10, candidate: 12 },
    );
    expect(rows.map(({ baseline, candidate }) => [baseline?.number, candidate?.number])).toEqual([
      [10, 12],
      [11, 13],
    ]);
  });

  test('of two texts of 1 MB with nothing in common stays small', () => {
    const text = (letter: string): string => numbered(40_000, index => `${letter} ${index} and some more words`);
    const { rows, linesLeft } = diffOfTexts(text('a'), text('b'));
    expect(rows).toHaveLength(20_000);
    expect(linesLeft).toBe(20_000);
  });

  test('of two lines of 1 MB marks the difference, and says how many characters it leaves out', () => {
    const [row] = diffOfTexts(`${'a'.repeat(1_000_000)}X tail`, `${'a'.repeat(1_000_000)}Y tail`).rows;
    expect([marks(row?.baseline), marks(row?.candidate)]).toEqual([['X'], ['Y']]);
    expect(row?.baseline?.parts[0]?.left).toBe(992_000);
    expect(textOf(row?.baseline)).toHaveLength(8_000 + 'X tail'.length);
  });
});

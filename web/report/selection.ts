import type { PageHead, PageRow } from '../../src/reports/page-data.ts';
import type { Address } from './address.ts';

export type Filters = Pick<Address, 'change' | 'verdict' | 'error' | 'suite' | 'q' | 'sort'>;

export const SORTS = [
  { value: '', label: 'Regressions first', compares: false },
  { value: 'id', label: 'Case id, A to Z', compares: false },
  { value: 'slowest', label: 'Slowest first', compares: false },
  { value: 'slower', label: 'Largest slowdown first', compares: true },
  { value: 'faster', label: 'Largest speedup first', compares: true },
  { value: 'costlier', label: 'Largest cost increase first', compares: true },
] as const;

/** The indices of the rows that pass all filters, in the chosen order. */
export function selected(
  rows: readonly PageRow[],
  head: Pick<PageHead, 'suites' | 'error_classes'>,
  filters: Filters,
): number[] {
  const kinds = new Set(filters.change.split(',').filter(Boolean));
  const suite = filters.suite ? head.suites.indexOf(filters.suite) : undefined;
  const error = filters.error ? head.error_classes.indexOf(filters.error) : undefined;
  const letter = { pass: 'p', fail: 'f', error: 'e' }[filters.verdict];
  const words = filters.q.toLowerCase().split(/\s+/).filter(Boolean);
  const indices: number[] = [];
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] as PageRow;
    if (kinds.size > 0 && !kinds.has(row[2])) continue;
    if (suite !== undefined && row[3] !== suite) continue;
    if (error !== undefined && row[6] !== error) continue;
    if (letter !== undefined && !hasVerdict(row[5], letter)) continue;
    if (words.length > 0 && !holds(row, words)) continue;
    indices.push(index);
  }
  const measure = MEASURES[filters.sort];
  if (!measure) return indices;
  return indices
    .map(index => [index, measure(rows[index] as PageRow)] as const)
    .sort(([first, a], [second, b]) => (a < b ? -1 : a > b ? 1 : first - second))
    .map(([index]) => index);
}

/** A case passes if all its trials pass; it fails or errs if one does. */
const hasVerdict = (trials: string, letter: string): boolean =>
  letter === 'p'
    ? trials !== '' && !/[fen]/.test(trials)
    : trials.includes(letter) || (letter === 'e' && trials.includes('n'));

function holds(row: PageRow, words: readonly string[]): boolean {
  const text = `${row[0]} ${row[1] || ''} ${row[11] || ''}`.toLowerCase();
  return words.every(word => text.includes(word));
}

const LAST = Number.POSITIVE_INFINITY;
const difference = (from: number | null, to: number | null): number | null =>
  from === null || to === null ? null : to - from;
const descending = (value: number | null): number => (value === null ? LAST : -value);

/** Ascending; missing values come last. */
const MEASURES: Record<string, (row: PageRow) => number | string> = {
  id: row => row[0],
  slower: row => descending(difference(row[7], row[8])),
  faster: row => difference(row[7], row[8]) ?? LAST,
  slowest: row => descending(row[8]),
  costlier: row => descending(difference(row[9], row[10])),
};

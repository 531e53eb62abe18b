import { eachRow } from '../../base/row-list.ts';
import type { PageFacet, PageHead, PageRow } from '../page-data.ts';
import type { Search } from './search.ts';

/** The keys that narrow a list of cases. */
export const FILTERS = ['change', 'verdict', 'error', 'suite', 'cause', 'expectation', 'tag', 'severity', 'q'] as const;

/** Which cases to list, and in which order. An empty text filters nothing. */
export type Chosen = { readonly [Key in (typeof FILTERS)[number] | 'sort']: string };

type Lists = Pick<PageHead, 'suites' | 'error_classes' | 'causes' | 'expectations' | 'tags' | 'severities'>;

export const SORTS = [
  { value: '', label: 'Regressions first', compares: false },
  { value: 'id', label: 'Case id, A to Z', compares: false },
  { value: 'slowest', label: 'Slowest first', compares: false },
  { value: 'slower', label: 'Largest slowdown first', compares: true },
  { value: 'faster', label: 'Largest speedup first', compares: true },
  { value: 'costlier', label: 'Largest cost increase first', compares: true },
] as const;

/** The indices of the rows that pass all filters, in the chosen order. `search` looks beyond the rows. */
export function selected(rows: readonly PageRow[], head: Lists, filters: Chosen, search?: Search): number[] {
  const kinds = new Set(filters.change.split(',').filter(Boolean));
  const suite = filters.suite ? head.suites.indexOf(filters.suite) : undefined;
  const error = filters.error ? head.error_classes.indexOf(filters.error) : undefined;
  const marks = [
    marked(rows.length, head.causes.listed, filters.cause),
    marked(rows.length, head.expectations.listed, filters.expectation),
    marked(rows.length, head.tags.listed, filters.tag),
    marked(rows.length, head.severities.listed, filters.severity),
  ].filter(one => one !== undefined);
  const words = filters.q
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .map(word => ({ word, found: search?.marks(word, rows.length) }));
  const indices: number[] = [];
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] as PageRow;
    if (kinds.size > 0 && !kinds.has(row[2])) continue;
    if (suite !== undefined && row[3] !== suite) continue;
    if (error !== undefined && row[6] !== error) continue;
    if (filters.verdict && !hasVerdict(row, filters.verdict)) continue;
    if (marks.some(one => one[index] !== 1)) continue;
    if (words.length > 0) {
      const text = `${row[0]} ${row[1] || ''} ${row[11] || ''}`.toLowerCase();
      if (!words.every(({ word, found }) => found?.[index] === 1 || text.includes(word))) continue;
    }
    indices.push(index);
  }
  // The order comes from the address, which may name a member of every object, such as __proto__.
  const measure = Object.hasOwn(MEASURES, filters.sort) ? MEASURES[filters.sort] : undefined;
  if (!measure) return indices;
  return indices
    .map(index => [index, measure(rows[index] as PageRow)] as const)
    .sort(([first, a], [second, b]) => (a < b ? -1 : a > b ? 1 : first - second))
    .map(([index]) => index);
}

/** A mark for each row with the value; undefined if the filter is not set. */
function marked(rows: number, facets: readonly PageFacet[], value: string): Uint8Array | undefined {
  if (value === '') return undefined;
  const marks = new Uint8Array(rows);
  for (const facet of facets) if (facet.text === value) eachRow(facet.rows, row => void (marks[row] = 1));
  return marks;
}

/** A case passes if all its trials pass; it fails or errs if one does. */
function hasVerdict(row: PageRow, verdict: string): boolean {
  const { 2: kind, 5: trials } = row;
  if (OWN_KINDS.has(kind) || OWN_KINDS.has(verdict)) return kind === verdict;
  if (verdict === 'pass') return trials !== '' && !/[fen]/.test(trials);
  if (verdict === 'fail') return trials.includes('f');
  return verdict === 'error' ? /[en]/.test(trials) : true;
}

/** Kinds that the letters of the trials do not show. */
const OWN_KINDS: ReadonlySet<string> = new Set(['unjudged', 'running']);

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

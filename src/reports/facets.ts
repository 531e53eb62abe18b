import { rowList } from '../base/row-list.ts';
import type { Concern } from './cause-groups.ts';
import type { PageCauses, PageFacets } from './page-data.ts';

/** How many causes a page lists. */
const CAUSES_MAX = 100;
/** How many values of a filter a page lists. */
const VALUES_MAX = 200;

interface Group {
  readonly concern: Concern;
  readonly text: string;
  readonly cases: readonly { readonly case_id: string }[];
}

/** The causes of a page, the most urgent concern first, and the most frequent cause first. */
export function pageCauses(groups: readonly Group[], rowOf: ReadonlyMap<string, number>): PageCauses {
  const sorted = groups.toSorted(
    (a, b) => URGENCY.indexOf(a.concern) - URGENCY.indexOf(b.concern) || b.cases.length - a.cases.length,
  );
  const more = sorted.slice(CAUSES_MAX);
  return {
    listed: sorted.slice(0, CAUSES_MAX).map(({ concern, text, cases }) => ({
      concern,
      text,
      count: cases.length,
      rows: rowList(cases.map(({ case_id }) => rowOf.get(case_id) as number).sort((a, b) => a - b)),
    })),
    more: more.length,
    more_cases: more.reduce((sum, { cases }) => sum + cases.length, 0),
  };
}

const URGENCY: readonly Concern[] = ['regressed', 'failed', 'error', 'failing', 'flaky', 'missing'];

/** The values of a filter and their rows, the most frequent first. A case may have several values. */
export function pageFacets(valuesOfRows: readonly (readonly string[])[]): PageFacets {
  const rows = new Map<string, number[]>();
  for (const [row, values] of valuesOfRows.entries()) {
    for (const value of values) {
      const known = rows.get(value);
      if (!known) rows.set(value, [row]);
      else if (known.at(-1) !== row) known.push(row);
    }
  }
  const sorted = [...rows].sort(([a, first], [b, second]) => second.length - first.length || (a < b ? -1 : 1));
  return {
    listed: sorted.slice(0, VALUES_MAX).map(([text, rows]) => ({ text, count: rows.length, rows: rowList(rows) })),
    more: Math.max(0, sorted.length - VALUES_MAX),
  };
}

import { eachRow } from '../../base/row-list.ts';
import type { Page } from '../../reports/page.ts';
import type { PageHead, PageIndex, PageRow } from '../../reports/page-data.ts';
import { isUrgent, rowSeries } from '../../reports/rows/row-values.ts';
import { Search } from '../../reports/rows/search.ts';
import { type Chosen, FILTERS, selected } from '../../reports/rows/selection.ts';

type CaseFilters = { readonly [Key in keyof Chosen]?: string | undefined };

/** Which cases to list. A filter that is absent filters nothing. */
export interface CaseQuery extends CaseFilters {
  /** The position of the first case. */
  readonly from: number;
  readonly limit: number;
  /** Returns the part of the list with this case instead. */
  readonly around?: string | undefined;
}

/** A case in the list of a server. */
export interface CaseRow {
  readonly case_id: string;
  readonly title: string | null;
  readonly kind: PageRow[2];
  readonly suite: string | null;
  /** One letter per trial: p, f, e, or n for an error that does not count against the agent. */
  readonly baseline: string;
  readonly new: string;
  readonly error_class: string | null;
  readonly baseline_ms: number | null;
  readonly new_ms: number | null;
  readonly baseline_usd: number | null;
  readonly new_usd: number | null;
  readonly why: string | null;
  readonly finding: 'broken' | 'suspect' | null;
  readonly tally: string | null;
}

export interface CaseListPage {
  /** How many cases match. */
  readonly total: number;
  /** How many cases there are. */
  readonly cases: number;
  readonly from: number;
  /** The position of the case in `around`; null if it does not match. */
  readonly position: number | null;
  readonly rows: readonly CaseRow[];
  /** What a search covers; null without a search. */
  readonly searched: SearchedTexts | null;
}

export type SearchedTexts = Pick<PageIndex, 'inputs' | 'answers' | 'left_out' | 'chars_max'>;

/** The values of each side, ascending. */
export interface Distributions {
  readonly latency: readonly [baseline: readonly number[], candidate: readonly number[]];
  readonly cost: readonly [baseline: readonly number[], candidate: readonly number[]];
}

/** A report that answers questions about its cases, as JSON. It keeps the rows, and reads a case on request. */
export class OpenedReport {
  readonly #page: Page;
  readonly #rows: readonly PageRow[];
  readonly #rowOf: ReadonlyMap<string, number>;
  #index: { readonly search: Search; readonly texts: SearchedTexts } | undefined;
  /** The rows of the newest selections. */
  readonly #selections = new Map<string, readonly number[]>();

  constructor(page: Page) {
    this.#page = page;
    this.#rows = [...page.rows()];
    this.#rowOf = new Map(this.#rows.map(([id], row) => [id, row]));
  }

  get cases(): number {
    return this.#rows.length;
  }

  /** What an overview needs. Filters work on the server, so the rows of each value are left out. */
  reportText(): string {
    const urgent = this.#rows.filter(isUrgent);
    return JSON.stringify({
      head: this.#head(),
      distributions: distributionsOf(this.#rows, this.#page.head.kind),
      urgent: { rows: urgent.slice(0, URGENT_MAX).map(row => this.#rowAnswer(row)), total: urgent.length },
    });
  }

  casesText({ from, limit, around, ...filters }: CaseQuery): string {
    const indices = this.#selected(filters);
    const row = around === undefined ? undefined : this.#rowOf.get(around);
    const position = row === undefined ? -1 : indices.indexOf(row);
    const first = position < 0 ? from : Math.floor(position / limit) * limit;
    const answer: CaseListPage = {
      total: indices.length,
      cases: this.#rows.length,
      from: first,
      position: position < 0 ? null : position,
      rows: indices.slice(first, first + limit).map(index => this.#rowAnswer(this.#rows[index] as PageRow)),
      searched: filters.q ? this.#searched().texts : null,
    };
    return JSON.stringify(answer);
  }

  /** Undefined if there is no such case. */
  caseText(id: string): string | undefined {
    const index = this.#rowOf.get(id);
    if (index === undefined) return undefined;
    const row = JSON.stringify(this.#rowAnswer(this.#rows[index] as PageRow));
    // The page remembers which trials a case shows first when it reads the case.
    const whole = this.#page.caseText(index);
    const trials = [...(this.#page.trialsOf?.(index) ?? [])].map(([name, json]) => `${JSON.stringify(name)}:${json}`);
    return `{"row":${row},"case":${whole},"trials":{${trials.join(',')}}}`;
  }

  #head(): PageHead {
    const { head } = this.#page;
    const facets = (key: 'expectations' | 'tags' | 'severities') => ({
      ...head[key],
      listed: head[key].listed.map(({ text, count }) => ({ text, count, rows: '' })),
    });
    return {
      ...head,
      causes: {
        ...head.causes,
        listed: head.causes.listed.map(({ rows, concern, text, count }) => ({
          concern,
          text,
          count,
          rows: '',
          ids: this.#idsIn(rows),
        })),
      },
      expectations: facets('expectations'),
      tags: facets('tags'),
      severities: facets('severities'),
    };
  }

  #idsIn(rows: string): string[] {
    const ids: string[] = [];
    eachRow(rows, row => {
      const id = ids.length < IDS_MAX ? this.#rows[row]?.[0] : undefined;
      if (id !== undefined) ids.push(id);
    });
    return ids;
  }

  #selected(filters: CaseFilters): readonly number[] {
    const chosen = Object.fromEntries([...FILTERS, 'sort' as const].map(key => [key, filters[key] ?? ''])) as Chosen;
    const key = JSON.stringify(chosen);
    const known = this.#selections.get(key);
    if (known) return known;
    const search = chosen.q === '' ? undefined : this.#searched().search;
    const found = selected(this.#rows, this.#page.head, chosen, search);
    this.#selections.set(key, found);
    for (const oldest of this.#selections.keys()) {
      if (this.#selections.size <= SELECTIONS_MAX) break;
      this.#selections.delete(oldest);
    }
    return found;
  }

  #searched() {
    if (!this.#index) {
      const { words, rows, ...texts } = this.#page.words(this.#rows.length, INDEX_BYTES_MAX);
      this.#index = { search: new Search({ words, rows }), texts };
    }
    return this.#index;
  }

  #rowAnswer(row: PageRow): CaseRow {
    const { suites, error_classes: errors } = this.#page.head;
    return {
      case_id: row[0],
      title: row[1] || null,
      kind: row[2],
      suite: suites[row[3]] ?? null,
      baseline: row[4],
      new: row[5],
      error_class: errors[row[6]] ?? null,
      baseline_ms: row[7],
      new_ms: row[8],
      baseline_usd: row[9],
      new_usd: row[10],
      why: row[11] || null,
      finding: row[12] ?? null,
      tally: row[13] ?? null,
    };
  }
}

const IDS_MAX = 3;
const URGENT_MAX = 200;
const SELECTIONS_MAX = 8;
const INDEX_BYTES_MAX = 16 * 1024 ** 2;

function distributionsOf(rows: readonly PageRow[], kind: PageHead['kind']): Distributions {
  const { latency, cost } = rowSeries(rows, kind);
  return { latency: [thinned(latency[0]), thinned(latency[1])], cost: [thinned(cost[0]), thinned(cost[1])] };
}

/** Every n-th of many sorted values has the same distribution. */
function thinned(sorted: Float64Array): number[] {
  const every = Math.ceil(sorted.length / VALUES_MAX);
  return [...(every <= 1 ? sorted : sorted.filter((_, index) => index % every === 0))];
}

const VALUES_MAX = 20_000;

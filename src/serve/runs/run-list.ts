import { monotonicMs } from '../../base/clock.ts';
import type { RunIndex, RunRow } from './run-index.ts';

/** Which runs to list, and in which order. */
export interface RunQuery {
  readonly kind?: string | undefined;
  readonly state?: string | undefined;
  readonly status?: string | undefined;
  /** A part of the id or of the subject. */
  readonly q?: string | undefined;
  readonly sort?: 'newest' | 'oldest' | 'longest' | undefined;
  /** The last run of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface RunListPage {
  readonly runs: readonly RunRow[];
  /** The number of runs that match; null if it was not counted. */
  readonly total: number | null;
  /** The run after which the next page starts; null on the last page. */
  readonly next: string | null;
}

/**
 * Pages of runs as JSON. Clients that ask for the same page within a quarter of a second share its bytes, because
 * encoding a text for each of them costs more than all guards together.
 */
export class RunPages {
  readonly #index: RunIndex;
  readonly #pages = new Map<string, { readonly bytes: Promise<Uint8Array>; readonly atMs: number }>();

  constructor(index: RunIndex) {
    this.#index = index;
  }

  bytes(query: RunQuery): Promise<Uint8Array> {
    const key = JSON.stringify(query);
    const nowMs = monotonicMs();
    const known = this.#pages.get(key);
    if (known && nowMs - known.atMs < SHARED_MS) return known.bytes;
    const bytes = listedRuns(this.#index, query).then(page => Buffer.from(JSON.stringify(page)));
    this.#pages.delete(key);
    this.#pages.set(key, { bytes, atMs: nowMs });
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= PAGES_MAX) break;
      this.#pages.delete(oldest);
    }
    return bytes;
  }
}

const SHARED_MS = 250;
const PAGES_MAX = 100;

/** One page of runs. Without a filter it reads only the rows of the page. */
async function listedRuns(index: RunIndex, query: RunQuery): Promise<RunListPage> {
  const places = index.all();
  if (isPlain(query)) {
    const ordered = query.sort === 'oldest' ? places.toReversed() : places;
    const from = 1 + ordered.findIndex(({ id }) => id === query.after);
    const page = ordered.slice(from, from + query.limit);
    const runs = await Promise.all(page.map(place => index.row(place)));
    const isLast = from + page.length >= ordered.length;
    return { runs, total: places.length, next: isLast ? null : (page.at(-1)?.id ?? null) };
  }
  const rows: RunRow[] = [];
  for (const place of places) {
    const row = await index.row(place);
    if (fits(row, query)) rows.push(row);
  }
  if (query.sort === 'oldest') rows.reverse();
  if (query.sort === 'longest') rows.sort((a, b) => (b.duration_ms ?? -1) - (a.duration_ms ?? -1));
  const from = 1 + rows.findIndex(({ run_id }) => run_id === query.after);
  const runs = rows.slice(from, from + query.limit);
  const isLast = from + runs.length >= rows.length;
  return { runs, total: rows.length, next: isLast ? null : (runs.at(-1)?.run_id ?? null) };
}

function isPlain({ kind, state, status, q, sort }: RunQuery): boolean {
  return !kind && !state && !status && !q && sort !== 'longest';
}

function fits(row: RunRow, { kind, state, status, q }: RunQuery): boolean {
  if (kind && row.kind !== kind) return false;
  if (state && row.state !== state) return false;
  if (status && row.status !== status) return false;
  return !q || row.run_id.includes(q) || (row.subject ?? '').toLowerCase().includes(q.toLowerCase());
}

import { setImmediate as others } from 'node:timers/promises';
import { monotonicMs } from '../../base/clock.ts';
import { indexAfter } from './index-after.ts';
import type { RunIndex, RunPlace, RunRow } from './run-index.ts';

/** Which runs to list, and in which order. */
export interface RunQuery {
  readonly kind?: string | undefined;
  readonly state?: string | undefined;
  readonly status?: string | undefined;
  /** A part of the id or of the subject. */
  readonly q?: string | undefined;
  readonly sort?: 'newest' | 'oldest' | 'longest' | undefined;
  /** The last run of the page before: its id, or its lane and id. */
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

/** What a list of runs reads. */
type ListedIndex = Pick<RunIndex, 'all' | 'row'>;

/**
 * Pages of runs as JSON. Clients that ask for the same page within a quarter of a second share its bytes, because
 * encoding a text for each of them costs more than all guards together.
 */
export class RunPages {
  readonly #index: ListedIndex;
  readonly #pages = new Map<string, { readonly bytes: Promise<Uint8Array>; readonly atMs: number }>();

  constructor(index: ListedIndex) {
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
const ROWS_PER_TURN = 100;

/** One page of runs. Without a filter it reads only the rows of the page. */
async function listedRuns(index: ListedIndex, query: RunQuery): Promise<RunListPage> {
  const places = index.all();
  const { limit, sort } = query;
  const isAfter = (place: RunPlace): boolean => query.after === place.id || query.after === longName(place);
  if (isPlain(query)) {
    const ordered = sort === 'oldest' ? places.toReversed() : places;
    const rest = ordered.slice(indexAfter(query.after, ordered, isAfter));
    const page = rest.slice(0, limit);
    const runs = await Promise.all(page.map(place => index.row(place)));
    return { runs, total: places.length, next: page.length < rest.length ? nameIn(places, page.at(-1)) : null };
  }
  const listed: { readonly place: RunPlace; readonly row: RunRow }[] = [];
  for (const place of places) {
    listed.push({ place, row: await index.row(place) });
    // Rows are read without waiting for anything, so others would wait for all of them.
    if (listed.length % ROWS_PER_TURN === 0) await others();
  }
  if (sort === 'oldest') listed.reverse();
  if (sort === 'longest') listed.sort((a, b) => (b.row.duration_ms ?? -1) - (a.row.duration_ms ?? -1));
  const matches = ({ row }: { readonly row: RunRow }): boolean => fits(row, query);
  // The last run of the page before may match no more, and still says where this page starts.
  const from = indexAfter(query.after, listed, ({ place }) => isAfter(place));
  const rest = listed.slice(from).filter(matches);
  const page = rest.slice(0, limit);
  return {
    runs: page.map(({ row }) => row),
    total: listed.filter(matches).length,
    next: page.length < rest.length ? nameIn(places, page.at(-1)?.place) : null,
  };
}

/** Both sides of a comparison may have a run with the same id. Then only the longer name says which one is meant. */
function nameIn(places: readonly RunPlace[], place: RunPlace | undefined): string | null {
  if (!place) return null;
  return places.some(one => one.id === place.id && one.lane !== place.lane) ? longName(place) : place.id;
}

const longName = ({ lane, id }: RunPlace): string => `${lane}/${id}`;

function isPlain({ kind, state, status, q, sort }: RunQuery): boolean {
  return !kind && !state && !status && !q && sort !== 'longest';
}

function fits(row: RunRow, { kind, state, status, q }: RunQuery): boolean {
  if (kind && row.kind !== kind) return false;
  if (state && row.state !== state) return false;
  if (status && row.status !== status) return false;
  return !q || row.run_id.includes(q) || (row.subject ?? '').toLowerCase().includes(q.toLowerCase());
}

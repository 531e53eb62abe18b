/** Lists of 20,000 runs: every filter and every order gives each matching run once, on exactly one page. */
import { describe, expect, onTestFinished, test } from 'vitest';
import type { RunPlace, RunRow } from '../../../src/serve/runs/run-index.ts';
import { type RunListPage, RunPages, type RunQuery } from '../../../src/serve/runs/run-list.ts';
import { randomFrom } from '../../support/random.ts';

const RUNS = 20_000;
const LANES = ['new', 'baseline', 'script', 'agent', 'intent'];
const STATES = ['finished', 'running', 'interrupted', 'waiting'] as const;

interface Known {
  readonly place: RunPlace;
  readonly row: RunRow;
}

/** Runs, newest first. Every hundredth id is in two lanes. */
function made(total = RUNS): Known[] {
  const chance = randomFrom(7);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(chance() * items.length)] as Item;
  return Array.from({ length: total }, (_, index) => {
    const isTwin = index % 100 === 50;
    const id = `run-${String(isTwin ? index - 49 : index).padStart(5, '0')}`;
    const lane = isTwin ? 'baseline' : index % 100 === 1 ? 'new' : pick(LANES);
    const state = pick(STATES);
    const row: RunRow = {
      run_id: id,
      kind: lane,
      state,
      status: state === 'finished' ? pick(['passed', 'failed']) : state,
      subject: chance() < 0.1 ? null : `Subject ${Math.floor(chance() * 500)}`,
      started_at: null,
      duration_ms: chance() < 0.2 ? null : Math.floor(chance() * 3_000),
      progress: null,
      position: null,
      verdicts: null,
    };
    return { place: { id, lane, folder: `/runs/${lane}/${id}` }, row };
  });
}

function pagesOf(known: () => readonly Known[]): RunPages {
  const rowOf = (place: RunPlace): RunRow => {
    const found = byFolder().get(place.folder);
    if (!found) throw new Error(`There is no run ${place.id}.`);
    return found;
  };
  let rows: Map<string, RunRow> | undefined;
  let of: readonly Known[] | undefined;
  const byFolder = (): Map<string, RunRow> => {
    if (of !== known()) rows = undefined;
    of = known();
    rows ??= new Map(of.map(({ place, row }) => [place.folder, row]));
    return rows;
  };
  return new RunPages({ all: () => known().map(({ place }) => place), row: async place => rowOf(place) });
}

const read = async (pages: RunPages, query: RunQuery): Promise<RunListPage> =>
  JSON.parse(Buffer.from(await pages.bytes(query)).toString()) as RunListPage;

const nameOf = ({ run_id: id, kind }: RunRow): string => `${kind}/${id}`;

/** Follows `next` from the first page to the last, and expects each to say how many runs match. */
async function all(
  pages: RunPages,
  query: Omit<RunQuery, 'limit'>,
  { limit, count }: { readonly limit: number; readonly count: number },
): Promise<string[]> {
  const names: string[] = [];
  let after: string | undefined;
  for (let page = 0; page <= RUNS / limit + 1; page++) {
    const { runs, next, total } = await read(pages, { ...query, limit, after });
    expect(total).toBe(count);
    names.push(...runs.map(nameOf));
    if (next === null) return names;
    expect(runs).toHaveLength(limit);
    after = next;
  }
  throw new Error('The pages do not end.');
}

const FILTERS: readonly (readonly [string, Omit<RunQuery, 'limit'>, (row: RunRow) => boolean])[] = [
  ['none', {}, () => true],
  ['a kind', { kind: 'agent' }, ({ kind }) => kind === 'agent'],
  ['a state', { state: 'running' }, ({ state }) => state === 'running'],
  ['a status', { status: 'failed' }, ({ status }) => status === 'failed'],
  ['a part of an id', { q: '-019' }, ({ run_id: id }) => id.includes('-019')],
  ['a part of a subject', { q: 'subject 4' }, ({ subject }) => subject?.startsWith('Subject 4') === true],
  ['two filters', { kind: 'new', state: 'finished' }, ({ kind, state }) => kind === 'new' && state === 'finished'],
  ['nothing that exists', { q: 'no such run' }, () => false],
];

describe('every page of 20,000 runs', () => {
  const runs = made();
  const pages = pagesOf(() => runs);
  const orders = {
    newest: (rows: RunRow[]) => rows,
    oldest: (rows: RunRow[]) => rows.toReversed(),
    longest: (rows: RunRow[]) => rows.toSorted((a, b) => (b.duration_ms ?? -1) - (a.duration_ms ?? -1)),
  };
  test.each(FILTERS)('filtered by %s, in every order, has each matching run once', async (_, query, matches) => {
    for (const [sort, ordered] of Object.entries(orders)) {
      const expected = ordered(runs.map(({ row }) => row)).filter(row => matches(row));
      const asked = { ...query, sort: sort as keyof typeof orders };
      const page = { limit: Math.ceil(expected.length / 2) || 1, count: expected.length };
      expect(await all(pages, asked, page)).toEqual(expected.map(nameOf));
    }
  });

  test('of one run each passes over two runs with the same id', async () => {
    const few = runs.slice(0, 120);
    const one = pagesOf(() => few);
    for (const sort of ['newest', 'oldest', 'longest'] as const)
      expect(new Set(await all(one, { sort }, { limit: 1, count: 120 })).size).toBe(few.length);
  });
});

function inState<Made extends { readonly row: RunRow }>(one: Made, state: RunRow['state']): Made {
  return { ...one, row: { ...one.row, state } };
}

describe('a page after a run that changed', () => {
  test('continues behind it although it matches the filter no more', async () => {
    let runs = made(300).map(one => inState(one, 'running'));
    const pages = pagesOf(() => runs);
    const query = { state: 'running', limit: 10 };
    for (const sort of ['newest', 'oldest', 'longest'] as const) {
      const first = await read(pages, { ...query, sort });
      const last = first.runs.at(-1) as RunRow;
      runs = runs.map(one => (nameOf(one.row) === nameOf(last) ? inState(one, 'finished') : one));
      const second = await read(pages, { ...query, sort, after: first.next as string });
      const seen = new Set(first.runs.map(nameOf));
      expect(second.runs.filter(row => seen.has(nameOf(row)))).toEqual([]);
      expect(second.runs).toHaveLength(10);
    }
  });

  test.each([{}, { state: 'finished' }])(
    'refuses if the run is gone, instead of starting at the first: %o',
    async filter => {
      const pages = pagesOf(() => made(50));
      await expect(pages.bytes({ ...filter, limit: 5, after: 'removed' })).rejects.toMatchObject({ code: 'page_gone' });
    },
  );
});

test('a filtered list of many runs lets others have their turn', async () => {
  const runs = made();
  const pages = pagesOf(() => runs);
  let turns = 0;
  let next = setImmediate(function count() {
    turns++;
    next = setImmediate(count);
  });
  onTestFinished(() => clearImmediate(next));
  await pages.bytes({ q: 'subject', limit: 10 });
  expect(turns).toBeGreaterThan(0);
});

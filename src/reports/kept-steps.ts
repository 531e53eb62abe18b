import { type EventRow, eventRows } from '../contracts/artifacts/event-rows.ts';
import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import type { PageArtifact, PageCase, PageStep } from './page-data.ts';
import type { ReportSide } from './report-input.ts';

/** How many events of each side a page holds for one case. */
export const CASE_EVENTS_MAX = 600;
/** How many steps before and after a cited one are kept. */
const AROUND = 30;
const CITED_MAX = 4;
/** How many events of one step are kept. A call with many attempts has more. */
const STEP_EVENTS_MAX = 40;

type Ranges = NonNullable<PageArtifact['events_kept']>;

interface KeptSteps {
  /** The events to keep of each side; undefined for a side that is kept whole. */
  readonly ranges: { readonly [Which in ReportSide]: Ranges | undefined };
  /** The aligned steps, with a note where some are missing. */
  readonly steps: () => readonly PageStep[];
}

/**
 * Chooses the events to show of a long stream: those around the cited ones, then as many of the first and the last as
 * fit. Both sides are chosen by row, so that a row is kept or omitted as a whole.
 */
export function keptSteps(
  baseline: CaseArtifact | undefined,
  candidate: CaseArtifact | undefined,
  judged: Pick<PageCase, 'assertions' | 'divergence'>,
): KeptSteps {
  const rowsOf = (): EventRow[] => eventRows(baseline ?? {}, candidate ?? {});
  const counts = { baseline: baseline?.events?.length ?? 0, candidate: candidate?.events?.length ?? 0 };
  if (counts.baseline <= CASE_EVENTS_MAX && counts.candidate <= CASE_EVENTS_MAX)
    return { ranges: { baseline: undefined, new: undefined }, steps: rowsOf };
  const cited = citedIn(judged);
  const rows = rowsOf();
  const shown = rows.map(row => shortened(row, cited));
  const chosen = chosenRows(shown, cited);
  const keptOf = (side: RowSide): Ranges | undefined => {
    const indices = shown.flatMap((row, index) => (chosen.has(index) ? row[side] : []));
    return indices.length === counts[side] ? undefined : rangesOf(indices);
  };
  return {
    ranges: { baseline: keptOf('baseline'), new: keptOf('candidate') },
    steps: () => withOmissions(rows, shown, chosen),
  };
}

/** The events to keep of one answer without another to compare it with; undefined for all of them. */
export function firstAndLast(artifact: CaseArtifact | undefined): Ranges | undefined {
  return keptSteps(undefined, artifact, { assertions: [], divergence: null }).ranges.new;
}

type RowSide = 'baseline' | 'candidate';

/** The events that the comparison or an expectation cites, in that order. */
type Cited = { readonly [Which in RowSide]: ReadonlySet<number> };

function citedIn({ divergence, assertions }: Pick<PageCase, 'assertions' | 'divergence'>): Cited {
  const failing = assertions.filter(({ status }) => status === 'fail');
  const places = [...(divergence?.cites ?? []), ...failing.flatMap(({ at }) => (at === null ? [] : `new:${at}`))];
  const indicesOf = (side: ReportSide): ReadonlySet<number> =>
    new Set(
      places
        .flatMap(place => new RegExp(`^${side}:events\\[(\\d+)\\]`).exec(place)?.[1] ?? [])
        .slice(0, CITED_MAX)
        .map(Number),
    );
  return { baseline: indicesOf('baseline'), candidate: indicesOf('new') };
}

/** The row with at most `STEP_EVENTS_MAX` events of each side: the first, the last and the cited ones. */
function shortened(row: EventRow, cited: Cited): EventRow {
  const keep = (side: RowSide): readonly number[] => {
    const indices = row[side];
    const half = STEP_EVENTS_MAX / 2;
    if (indices.length <= STEP_EVENTS_MAX) return indices;
    return indices.filter((index, at) => at < half || at >= indices.length - half || cited[side].has(index));
  };
  return { ...row, baseline: keep('baseline'), candidate: keep('candidate') };
}

function chosenRows(rows: readonly EventRow[], cited: Cited): ReadonlySet<number> {
  const chosen = new Set<number>();
  const left = { baseline: CASE_EVENTS_MAX, candidate: CASE_EVENTS_MAX };
  const take = (index: number): boolean => {
    const row = rows[index];
    if (!row || chosen.has(index)) return true;
    if (row.baseline.length > left.baseline || row.candidate.length > left.candidate) return false;
    left.baseline -= row.baseline.length;
    left.candidate -= row.candidate.length;
    chosen.add(index);
    return true;
  };
  const isCited = (row: EventRow): boolean =>
    row.baseline.some(index => cited.baseline.has(index)) || row.candidate.some(index => cited.candidate.has(index));
  const centres = rows.flatMap((row, index) => (isCited(row) ? index : []));
  for (let by = 0; by <= AROUND; by++) {
    for (const centre of centres) {
      take(centre - by);
      take(centre + by);
    }
  }
  for (let at = 0; at < rows.length / 2 && take(at) && take(rows.length - 1 - at); at++);
  return chosen;
}

/** Sorted indices as ranges. */
function rangesOf(indices: readonly number[]): Ranges {
  const ranges: [number, number][] = [];
  for (const index of indices.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last?.[1] === index) last[1]++;
    else ranges.push([index, index + 1]);
  }
  return ranges;
}

function withOmissions(rows: readonly EventRow[], shown: readonly EventRow[], chosen: ReadonlySet<number>): PageStep[] {
  const steps: PageStep[] = [];
  let missing: EventRow[] = [];
  const tell = (): void => {
    if (missing.length === 0) return;
    const count = (side: RowSide): number => missing.reduce((sum, row) => sum + row[side].length, 0);
    const differing = missing.filter(({ how }) => !EQUAL.has(how)).length;
    steps.push({ omitted: { baseline: count('baseline'), candidate: count('candidate') }, differing });
    missing = [];
  };
  for (const [index, row] of rows.entries()) {
    if (!chosen.has(index)) {
      missing.push(row);
      continue;
    }
    tell();
    const short = shown[index] as EventRow;
    const clipped = row.baseline.length + row.candidate.length - short.baseline.length - short.candidate.length;
    steps.push(clipped > 0 ? { ...short, clipped } : short);
  }
  tell();
  return steps;
}

const EQUAL: ReadonlySet<EventRow['how']> = new Set(['same', 'passing', 'ignored']);

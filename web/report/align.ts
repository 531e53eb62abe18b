import { type EventRow, eventRows } from '../../src/contracts/artifacts/event-rows.ts';
import type { OmittedSteps, PageArtifact, PageCase, PageStep, ShownStep } from '../../src/reports/page-data.ts';

type SideOfRow = 'baseline' | 'candidate';

/** The steps of a case, aligned as the judge aligns them. Indices refer to the full lists of events. */
export function stepsOfCase(
  data: Pick<PageCase, 'baseline' | 'new' | 'steps' | 'shown'>,
  isRun: boolean,
): readonly PageStep[] {
  const { steps, shown } = data;
  if (steps && steps.of.baseline === shown.baseline && steps.of.new === shown.new) return steps.rows;
  const kept = { baseline: isRun ? null : data.baseline, candidate: data.new };
  const rows = eventRows(kept.baseline ?? {}, kept.candidate ?? {});
  if (!kept.baseline?.events_kept && !kept.candidate?.events_kept) return rows;
  const original = { baseline: originalOf(kept.baseline), candidate: originalOf(kept.candidate) };
  const map = (side: SideOfRow, indices: readonly number[]): number[] =>
    indices.map(index => original[side][index] ?? index);
  return withGaps(
    rows.map(row =>
      Object.assign({}, row, { baseline: map('baseline', row.baseline), candidate: map('candidate', row.candidate) }),
    ),
    kept,
  );
}

export const isOmitted = (step: PageStep): step is OmittedSteps => 'omitted' in step;

/** The index in the full list of each event that the page holds. */
export function originalOf(artifact: PageArtifact | null): number[] {
  const { events = [], events_kept: kept } = artifact ?? {};
  if (!kept) return [...events.keys()];
  return kept.flatMap(([from, to]) => Array.from({ length: to - from }, (_, index) => from + index));
}

/** Says where events are missing, for streams that were shortened before they were aligned. */
function withGaps(rows: readonly EventRow[], kept: { readonly [Which in SideOfRow]: PageArtifact | null }): PageStep[] {
  const next = { baseline: 0, candidate: 0 };
  const steps: PageStep[] = [];
  for (const row of rows) {
    const missing = (side: SideOfRow): number => {
      const first = row[side][0];
      if (first === undefined) return 0;
      // A range that starts after the events so far follows a gap.
      const range = kept[side]?.events_kept?.find(([from, to]) => first >= from && first < to);
      const gap = range && range[0] > next[side] ? range[0] - next[side] : 0;
      next[side] = Math.max(next[side], range?.[1] ?? 0);
      return gap;
    };
    const omitted = { baseline: missing('baseline'), candidate: missing('candidate') };
    if (omitted.baseline + omitted.candidate > 0) steps.push({ omitted, differing: null });
    steps.push(row);
  }
  return steps;
}

/** Whether the two sides differ in this row, as the judge sees it. */
export const isDifference = ({ how }: EventRow): boolean => how !== 'same' && how !== 'passing' && how !== 'ignored';

/** The places of a row, such as new:events[2]. */
export function placesOf({ baseline, candidate }: EventRow): string[] {
  return [...baseline.map(index => `baseline:events[${index}]`), ...candidate.map(index => `new:events[${index}]`)];
}

/**
 * The row of the first divergence: the one that the comparison cites. Without a divergence, the first row that
 * differs. -1 if the comparison cites something else, such as the output.
 */
export function firstDivergence(steps: readonly PageStep[], { divergence }: Pick<PageCase, 'divergence'>): number {
  if (!divergence) return steps.findIndex(step => !isOmitted(step) && isDifference(step));
  const { baseline_at, new_at } = divergence;
  const cited = new Set([`baseline:${baseline_at}`, `new:${new_at}`]);
  return steps.findIndex(step => !isOmitted(step) && placesOf(step).some(place => cited.has(place)));
}

/** A row, or rows that are folded into one. `at` is the index of the first one among the steps. */
export type FoldedStep =
  | { readonly at: number; readonly step: PageStep }
  | { readonly at: number; readonly rows: readonly ShownStep[] };

/** How many rows are shown next to one that stays visible. */
const CONTEXT = 2;
/** Fewer rows than this are not folded. */
const FOLDED_MIN = 4;

/** Folds the rows that are not `kept`, except those next to a kept one. Without a kept row, the first and last stay. */
export function folded(steps: readonly PageStep[], kept: (step: ShownStep, index: number) => boolean): FoldedStep[] {
  const isKept = steps.map((step, index) => isOmitted(step) || kept(step, index));
  const ends = isKept.includes(true) ? [] : [0, steps.length - 1];
  const near = new Set(ends);
  for (const [index, is] of isKept.entries()) {
    if (is) for (let by = -CONTEXT; by <= CONTEXT; by++) near.add(index + by);
  }
  const items: FoldedStep[] = [];
  let hidden: ShownStep[] = [];
  const close = (end: number): void => {
    const at = end - hidden.length;
    if (hidden.length >= FOLDED_MIN) items.push({ at, rows: hidden });
    else items.push(...hidden.map((step, index) => ({ at: at + index, step })));
    hidden = [];
  };
  for (const [index, step] of steps.entries()) {
    if (!near.has(index) && !isOmitted(step)) {
      hidden.push(step);
      continue;
    }
    close(index);
    items.push({ at: index, step });
  }
  close(steps.length);
  return items;
}

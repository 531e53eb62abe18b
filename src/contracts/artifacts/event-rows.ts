import { align } from '../../base/align.ts';
import { canonicalize } from '../../base/canonical.ts';
import type { CaseArtifact } from './case-shape.ts';
import type { Event } from './events.ts';
import { type Matched, matchSteps, type PairOfSteps } from './match-steps.ts';
import { isOtherReply, lasting, type Step, stepsOf } from './steps.ts';

/** One step of two aligned streams: the indices of its events on each side. A side without the step has none. */
export interface EventRow {
  readonly baseline: readonly number[];
  readonly candidate: readonly number[];
  readonly how: RowHow;
  /** The first event of the counterpart, if that has a row of its own because the two are in a different order. */
  readonly elsewhere?: number;
}

type RowHow =
  | 'same'
  /** The same apart from ids and times. */
  | 'passing'
  /** The same request with a different result. */
  | 'outcome'
  /** The same tool or kind of step with a different request. */
  | 'changed'
  /** One step instead of another. */
  | 'replaced'
  | 'moved'
  | 'gone'
  | 'added'
  /** An event of an unknown type on one side. The judge ignores it. */
  | 'ignored';

type Stream = Pick<CaseArtifact, 'events' | 'attempts'>;

/**
 * Aligns two streams of events as the judge does, with one row per step. Each event is in exactly one row. Rows keep the
 * order of both sides, except that calls which were open at the same time are in the judge's order.
 */
export function eventRows(baseline: Stream, candidate: Stream): EventRow[] {
  const [before, now] = [stepsOf(baseline), stepsOf(candidate)];
  const matched = matchSteps(before, now);
  const { together, apart } = placed(pairsIn(matched, before, now), matched.same);
  const sides = { baseline: unitsOf(before, baseline.events ?? []), candidate: unitsOf(now, candidate.events ?? []) };
  const partners = partnersOf(apart, before, now);
  const rows: EventRow[] = [];
  let [u, v] = [0, 0];
  const upTo = (end: readonly [number, number]): void => {
    rows.push(...between(sides.baseline.units.slice(u, end[0]), sides.candidate.units.slice(v, end[1]), partners));
  };
  for (const { pair, how } of together) {
    const end = [sides.baseline.at[pair[0]] as number, sides.candidate.at[pair[1]] as number] as const;
    upTo(end);
    rows.push({ baseline: (before[pair[0]] as Step).events, candidate: (now[pair[1]] as Step).events, how });
    [u, v] = [end[0] + 1, end[1] + 1];
  }
  upTo([sides.baseline.units.length, sides.candidate.units.length]);
  return rows;
}

interface RatedPair {
  readonly pair: PairOfSteps;
  readonly how: RowHow;
}

/** All matched pairs in the order of the baseline. */
function pairsIn(matched: Matched, before: readonly Step[], now: readonly Step[]): RatedPair[] {
  const outcome = ([i, j]: PairOfSteps): RowHow => outcomeOf(before[i] as Step, now[j] as Step);
  return [
    ...matched.same.map(pair => ({ pair, how: outcome(pair) })),
    ...matched.changed.map(pair => ({ pair, how: 'changed' as const })),
    ...matched.replaced.map(pair => ({ pair, how: 'replaced' as const })),
    ...matched.moved.map(pair => ({ pair, how: 'moved' as const })),
  ].sort((a, b) => a.pair[0] - b.pair[0]);
}

/** How the results of two equal requests differ. */
function outcomeOf(was: Step, is: Step): RowHow {
  if (was.kind === 'call' && is.kind === 'call') {
    if (isOtherReply(was.reply, is.reply) || was.attempts !== is.attempts) return 'outcome';
    return was.asks === is.asks && was.reply?.payload === is.reply?.payload ? 'same' : 'passing';
  }
  if (was.kind === 'retrieval' && is.kind === 'retrieval') {
    if (was.docs.join('\n') !== is.docs.join('\n') || was.snippets !== is.snippets) return 'outcome';
    return was.query === is.query ? 'same' : 'passing';
  }
  if (was.kind === 'final_output' && is.kind === 'final_output') return was.content === is.content ? 'same' : 'outcome';
  return was.asks === is.asks ? 'same' : 'passing';
}

/** Separates the pairs that fit in one row from those that cross others. Equal steps never cross each other. */
function placed(
  pairs: readonly RatedPair[],
  same: readonly PairOfSteps[],
): { together: RatedPair[]; apart: RatedPair[] } {
  const gapBefore = gaps(same.map(([i]) => i));
  const gapNow = gaps(same.map(([, j]) => j));
  const anchors = new Set(same.map(([i]) => i));
  const apart: RatedPair[] = [];
  const together: RatedPair[] = [];
  let open: RatedPair[] = [];
  const close = (): void => {
    const { kept, left } = increasing(open);
    together.push(...kept);
    apart.push(...left);
    open = [];
  };
  for (const rated of pairs) {
    const [i, j] = rated.pair;
    if (anchors.has(i)) {
      close();
      together.push(rated);
    } else if (gapBefore(i) === gapNow(j)) open.push(rated);
    else apart.push(rated);
  }
  close();
  return { together, apart };
}

/** The number of anchors before an index. */
function gaps(anchors: readonly number[]): (index: number) => number {
  return index => {
    let [low, high] = [0, anchors.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((anchors[middle] as number) < index) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

/** The longest series of pairs, sorted by the baseline, that is also sorted by the candidate. */
function increasing(pairs: readonly RatedPair[]): { kept: RatedPair[]; left: RatedPair[] } {
  // ends[n]: the pair with the lowest candidate index that ends a series of n + 1 pairs.
  const ends: number[] = [];
  const lowest: number[] = [];
  const lengthBefore = gaps(lowest);
  const previous: number[] = [];
  for (const [index, { pair }] of pairs.entries()) {
    const length = lengthBefore(pair[1]);
    previous[index] = length === 0 ? -1 : (ends[length - 1] as number);
    ends[length] = index;
    lowest[length] = pair[1];
  }
  const chosen = new Set<number>();
  for (let index = ends.at(-1) ?? -1; index >= 0; index = previous[index] as number) chosen.add(index);
  return {
    kept: pairs.filter((_, index) => chosen.has(index)),
    left: pairs.filter((_, index) => !chosen.has(index)),
  };
}

/** A step, or an event that belongs to no step. */
interface Unit {
  readonly events: readonly number[];
  readonly step: Step | undefined;
  /** The content of an event without a step. */
  readonly mark: string;
}

/** Steps and other events in one order. `at` maps the index of a step to its unit. */
function unitsOf(steps: readonly Step[], events: readonly Event[]): { units: Unit[]; at: number[] } {
  const known = new Set(steps.flatMap(step => step.events));
  const others = [...events.keys()].filter(index => !known.has(index));
  const starts = new Map<number, number>();
  for (const { batch, at } of steps) starts.set(batch, Math.min(at, starts.get(batch) ?? at));
  const units: Unit[] = [];
  const at: number[] = [];
  let next = 0;
  const addOthers = (end: number): void => {
    for (; next < others.length && (others[next] as number) < end; next++) {
      const index = others[next] as number;
      units.push({ events: [index], step: undefined, mark: markOf(events[index] as Event) });
    }
  };
  for (const step of steps) {
    addOthers(starts.get(step.batch) as number);
    at.push(units.length);
    units.push({ events: step.events, step, mark: '' });
  }
  addOthers(Number.POSITIVE_INFINITY);
  return { units, at };
}

function markOf(event: Event): string {
  const { ts: _ts, id: _id, ...rest } = event as Record<string, unknown>;
  return lasting(canonicalize(rest));
}

/** For each step with a counterpart in another row: that counterpart, and how the two differ. */
function partnersOf(
  apart: readonly RatedPair[],
  before: readonly Step[],
  now: readonly Step[],
): ReadonlyMap<Step, Pick<EventRow, 'how' | 'elsewhere'>> {
  return new Map(
    apart.flatMap(({ pair: [i, j], how }) => {
      const [was, is] = [before[i] as Step, now[j] as Step];
      return [[was, { how, elsewhere: is.at }] as const, [is, { how, elsewhere: was.at }] as const];
    }),
  );
}

/** The rows between two pairs: those of the baseline first. Equal events without a step share a row. */
function between(
  baseline: readonly Unit[],
  candidate: readonly Unit[],
  partners: ReturnType<typeof partnersOf>,
): EventRow[] {
  if (baseline.length === 0 && candidate.length === 0) return [];
  const lone = ({ events, step }: Unit, side: 'baseline' | 'candidate'): EventRow => ({
    baseline: side === 'baseline' ? events : [],
    candidate: side === 'candidate' ? events : [],
    ...(step
      ? (partners.get(step) ?? { how: side === 'baseline' ? ('gone' as const) : ('added' as const) })
      : { how: 'ignored' as const }),
  });
  const isOther = ({ step }: Unit): boolean => step === undefined;
  const [others, othersNow] = [baseline.filter(isOther), candidate.filter(isOther)];
  const rows: EventRow[] = [];
  let [u, v] = [0, 0];
  const upTo = (end: number, endNow: number): void => {
    for (; u < end; u++) rows.push(lone(baseline[u] as Unit, 'baseline'));
    for (; v < endNow; v++) rows.push(lone(candidate[v] as Unit, 'candidate'));
  };
  const marks = [others.map(({ mark }) => mark), othersNow.map(({ mark }) => mark)] as const;
  for (const { same, baseline: range, candidate: rangeNow } of align(...marks).stretches) {
    if (!same) continue;
    for (let index = range[0]; index < range[1]; index++) {
      const [was, is] = [others[index] as Unit, othersNow[rangeNow[0] + index - range[0]] as Unit];
      upTo(baseline.indexOf(was, u), candidate.indexOf(is, v));
      rows.push({ baseline: was.events, candidate: is.events, how: 'same' });
      [u, v] = [u + 1, v + 1];
    }
  }
  upTo(baseline.length, candidate.length);
  return rows;
}

import type { Event } from '../../src/contracts/artifacts/index.ts';

/** One row of the aligned view: an index on each side, or null if that side has no step here. */
export interface Pair {
  readonly baseline: number | null;
  readonly candidate: number | null;
  readonly same: boolean;
}

/** The largest table to fill; longer streams are paired by position. */
const CELLS_MAX = 400_000;

/**
 * Aligns two streams of events for display. Rows keep the order of both sides; the judge instead matches steps that
 * moved, to find causes.
 */
export function align(baseline: readonly Event[], candidate: readonly Event[]): Pair[] {
  const [baselineMarks, candidateMarks] = [marksOf(baseline), marksOf(candidate)];
  let start = 0;
  while (
    start < baselineMarks.length &&
    start < candidateMarks.length &&
    equal(baselineMarks[start], candidateMarks[start])
  )
    start++;
  let tail = 0;
  while (
    tail < baselineMarks.length - start &&
    tail < candidateMarks.length - start &&
    equal(baselineMarks[baselineMarks.length - 1 - tail], candidateMarks[candidateMarks.length - 1 - tail])
  ) {
    tail++;
  }
  const baselineMiddle = baselineMarks.slice(start, baselineMarks.length - tail);
  const candidateMiddle = candidateMarks.slice(start, candidateMarks.length - tail);
  const middle =
    baselineMiddle.length * candidateMiddle.length <= CELLS_MAX
      ? byTable(baselineMiddle, candidateMiddle)
      : oneByOne(baselineMiddle, candidateMiddle);
  const shifted = middle.map(({ baseline, candidate, same }) => ({
    baseline: baseline === null ? null : baseline + start,
    candidate: candidate === null ? null : candidate + start,
    same,
  }));
  return [
    ...Array.from({ length: start }, (_, index) => ({ baseline: index, candidate: index, same: true })),
    ...shifted,
    ...Array.from({ length: tail }, (_, index) => ({
      baseline: baselineMarks.length - tail + index,
      candidate: candidateMarks.length - tail + index,
      same: true,
    })),
  ];
}

interface Mark {
  readonly type: string;
  /** The type and the tool. */
  readonly kind: string;
  /** The content without times and generated ids. */
  readonly content: string;
}

function marksOf(events: readonly Event[]): Mark[] {
  const tools = toolsOf(events);
  return events.map(event => {
    const {
      ts: _ts,
      id: _id,
      call_id,
      action_id: _action,
      latency_ms: _latency,
      ...rest
    } = event as Record<string, unknown>;
    const tool = typeof rest['tool'] === 'string' ? rest['tool'] : (tools.get(call_id) ?? '');
    return { type: event.type, kind: `${event.type} ${tool}`, content: `${tool} ${JSON.stringify(sorted(rest))}` };
  });
}

/** The tool of each call, by call id. */
export function toolsOf(events: readonly Event[]): ReadonlyMap<unknown, string> {
  return new Map(
    events.flatMap(event => (event.type === 'tool_call' ? [[event['call_id'], String(event['tool'])] as const] : [])),
  );
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  );
}

const equal = (a: Mark | undefined, b: Mark | undefined): boolean => a?.content === b?.content;

/** Equal steps score highest, then steps with the same tool, then steps of one type. Others are never paired. */
const worth = (a: Mark, b: Mark): number =>
  a.content === b.content ? EQUAL : a.kind === b.kind ? 4 : a.type === b.type ? 1 : 0;
const EQUAL = 6;

function byTable(baselineMarks: readonly Mark[], candidateMarks: readonly Mark[]): Pair[] {
  const width = candidateMarks.length + 1;
  const best = new Uint32Array((baselineMarks.length + 1) * width);
  for (let i = baselineMarks.length - 1; i >= 0; i--) {
    for (let j = candidateMarks.length - 1; j >= 0; j--) {
      const value = worth(baselineMarks[i] as Mark, candidateMarks[j] as Mark);
      const paired = value === 0 ? 0 : value + (best[(i + 1) * width + j + 1] as number);
      best[i * width + j] = Math.max(paired, best[(i + 1) * width + j] as number, best[i * width + j + 1] as number);
    }
  }
  const pairs: Pair[] = [];
  let i = 0;
  let j = 0;
  while (i < baselineMarks.length && j < candidateMarks.length) {
    const here = best[i * width + j] as number;
    const value = worth(baselineMarks[i] as Mark, candidateMarks[j] as Mark);
    if (value > 0 && here === value + (best[(i + 1) * width + j + 1] as number)) {
      pairs.push({ baseline: i++, candidate: j++, same: value === EQUAL });
    } else if (here === best[(i + 1) * width + j]) pairs.push({ baseline: i++, candidate: null, same: false });
    else pairs.push({ baseline: null, candidate: j++, same: false });
  }
  while (i < baselineMarks.length) pairs.push({ baseline: i++, candidate: null, same: false });
  while (j < candidateMarks.length) pairs.push({ baseline: null, candidate: j++, same: false });
  return pairs;
}

function oneByOne(baselineMarks: readonly Mark[], candidateMarks: readonly Mark[]): Pair[] {
  return Array.from({ length: Math.max(baselineMarks.length, candidateMarks.length) }, (_, index) => ({
    baseline: index < baselineMarks.length ? index : null,
    candidate: index < candidateMarks.length ? index : null,
    same: equal(baselineMarks[index], candidateMarks[index]),
  }));
}

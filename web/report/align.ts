import type { Event } from '../../src/contracts/artifacts/index.ts';

/** One row of the aligned view: an index on each side, or null if that side has no step here. */
export interface Pair {
  readonly baseline: number | null;
  readonly fresh: number | null;
  readonly same: boolean;
}

/** The largest table to fill; longer streams are paired by position. */
const CELLS_MAX = 400_000;

/**
 * Aligns two streams of events for display. Rows keep the order of both sides; the judge instead matches steps that
 * moved, to find causes.
 */
export function align(baseline: readonly Event[], fresh: readonly Event[]): Pair[] {
  const [old, young] = [marksOf(baseline), marksOf(fresh)];
  let start = 0;
  while (start < old.length && start < young.length && equal(old[start], young[start])) start++;
  let tail = 0;
  while (
    tail < old.length - start &&
    tail < young.length - start &&
    equal(old[old.length - 1 - tail], young[young.length - 1 - tail])
  ) {
    tail++;
  }
  const middleOld = old.slice(start, old.length - tail);
  const middleYoung = young.slice(start, young.length - tail);
  const middle =
    middleOld.length * middleYoung.length <= CELLS_MAX
      ? byTable(middleOld, middleYoung)
      : oneByOne(middleOld, middleYoung);
  const shifted = middle.map(({ baseline, fresh, same }) => ({
    baseline: baseline === null ? null : baseline + start,
    fresh: fresh === null ? null : fresh + start,
    same,
  }));
  return [
    ...Array.from({ length: start }, (_, index) => ({ baseline: index, fresh: index, same: true })),
    ...shifted,
    ...Array.from({ length: tail }, (_, index) => ({
      baseline: old.length - tail + index,
      fresh: young.length - tail + index,
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

function byTable(old: readonly Mark[], young: readonly Mark[]): Pair[] {
  const width = young.length + 1;
  const best = new Uint32Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = young.length - 1; j >= 0; j--) {
      const value = worth(old[i] as Mark, young[j] as Mark);
      const paired = value === 0 ? 0 : value + (best[(i + 1) * width + j + 1] as number);
      best[i * width + j] = Math.max(paired, best[(i + 1) * width + j] as number, best[i * width + j + 1] as number);
    }
  }
  const pairs: Pair[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length && j < young.length) {
    const here = best[i * width + j] as number;
    const value = worth(old[i] as Mark, young[j] as Mark);
    if (value > 0 && here === value + (best[(i + 1) * width + j + 1] as number)) {
      pairs.push({ baseline: i++, fresh: j++, same: value === EQUAL });
    } else if (here === best[(i + 1) * width + j]) pairs.push({ baseline: i++, fresh: null, same: false });
    else pairs.push({ baseline: null, fresh: j++, same: false });
  }
  while (i < old.length) pairs.push({ baseline: i++, fresh: null, same: false });
  while (j < young.length) pairs.push({ baseline: null, fresh: j++, same: false });
  return pairs;
}

function oneByOne(old: readonly Mark[], young: readonly Mark[]): Pair[] {
  return Array.from({ length: Math.max(old.length, young.length) }, (_, index) => ({
    baseline: index < old.length ? index : null,
    fresh: index < young.length ? index : null,
    same: equal(old[index], young[index]),
  }));
}

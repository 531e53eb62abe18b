import type { Event } from '../../src/contracts/artifacts/index.ts';
import { isLatencyRepaired, isTimeRepaired } from '../../src/contracts/artifacts/measured.ts';
import type { PageArtifact } from '../../src/reports/page-data.ts';
import { textOf } from '../shared/value-diff.ts';
import { originalOf } from './align.ts';

/** One step of one side: a call with its result, or another event. */
export interface StepView {
  readonly indices: readonly number[];
  readonly events: readonly Event[];
  readonly type: string;
  readonly tool: string | undefined;
  /** The request in one line. */
  readonly tells: string;
  readonly request: unknown;
  readonly result: unknown;
  readonly status: 'ok' | 'error' | 'no result' | undefined;
  readonly attempts: number;
  /** The measured duration; null if it is not known. */
  readonly tookMs: number | null;
  /** When it ran, in milliseconds since the first event; null if the times are not known. */
  readonly span: Span | null;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Reads the steps of one side. */
export interface SideReader {
  readonly view: (indices: readonly number[]) => StepView | null;
  /** The time from the first to the last event; null if the times are not known. */
  readonly lastsMs: number | null;
}

type Fields = Readonly<Record<string, unknown>>;
/** The longest text in the line of a step. Opening the step shows all of it. */
const LINE_CHARS = 200;

export function sideReader(artifact: PageArtifact | null): SideReader {
  const { events = [] } = artifact ?? {};
  const original = originalOf(artifact);
  const byIndex = new Map(events.map((event, index) => [original[index] ?? index, event]));
  const hasLatency = artifact !== null && !isLatencyRepaired(artifact);
  const clock = artifact && !isTimeRepaired(artifact) ? clockOf(events, hasLatency) : null;
  return {
    view: indices => {
      const own = indices.flatMap(index => byIndex.get(index) ?? []);
      return own.length === 0 ? null : viewOf(indices, own, hasLatency, clock?.from ?? null);
    },
    lastsMs: clock && clock.to > clock.from ? clock.to - clock.from : null,
  };
}

/**
 * The first and last time of the stream. Null unless the times are milliseconds of one clock: they never run backwards,
 * and no call takes noticeably longer than the time between its two events.
 */
function clockOf(events: readonly Event[], hasLatency: boolean): Span | null {
  const calls = new Map<unknown, number>();
  let last = Number.NEGATIVE_INFINITY;
  for (const event of events) {
    const { type, ts, call_id, latency_ms: tookMs } = event as Fields;
    if (typeof ts !== 'number' || ts < last) return null;
    last = ts;
    if (type === 'tool_call') calls.set(call_id, ts);
    const began = type === 'tool_result' ? calls.get(call_id) : undefined;
    if (
      hasLatency &&
      began !== undefined &&
      typeof tookMs === 'number' &&
      tookMs > (ts - began) * ROUGHLY + ROUNDING_MS
    )
      return null;
  }
  const [first] = events;
  return first ? { from: first.ts, to: last } : null;
}

/** Agents measure and round times and latencies separately. */
const ROUGHLY = 1.1;
const ROUNDING_MS = 1;

function viewOf(
  indices: readonly number[],
  events: readonly Event[],
  hasLatency: boolean,
  startMs: number | null,
): StepView {
  const first = events[0] as Event & Fields;
  const calls = events.filter(({ type }) => type === 'tool_call');
  const result: Fields | undefined = events.findLast(({ type }) => type === 'tool_result');
  const call: Fields | undefined = calls.at(-1);
  const tookMs = hasLatency && typeof result?.['latency_ms'] === 'number' ? result['latency_ms'] : null;
  const isDone = !call || result !== undefined;
  return {
    indices,
    events,
    type: call ? 'call' : short(first.type.replaceAll('_', ' ')),
    tool: typeof call?.['tool'] === 'string' ? short(call['tool']) : undefined,
    tells: short(tellsOf(call ?? first)),
    request: call ? call['args'] : tellingOf(first),
    result: result && tellingOf(result),
    status: !isDone ? 'no result' : (result?.['status'] as 'ok' | 'error' | undefined),
    attempts: Math.max(1, calls.length),
    tookMs,
    span: startMs === null || !isDone ? null : { from: first.ts - startMs, to: (events.at(-1) ?? first).ts - startMs },
  };
}

const short = (text: string): string =>
  text.length <= LINE_CHARS ? text : `${text.slice(0, LINE_CHARS).toWellFormed()}…`;

function tellsOf(event: Fields): string {
  const { type, args, query, doc_ids, content, payload_summary: summary } = event;
  if (type === 'tool_call') return textOf(args);
  if (type === 'retrieval') return `“${String(query)}” ${Array.isArray(doc_ids) ? doc_ids.join(', ') : ''}`;
  if (type === 'final_output') return typeof content === 'string' ? content : textOf(content);
  if (type === 'tool_result') return typeof summary === 'string' ? summary : textOf(summary);
  return textOf(tellingOf(event));
}

/** The event without times and generated ids. */
function tellingOf(event: Fields): unknown {
  const { type: _type, ts: _ts, id: _id, call_id: _call, action_id: _action, latency_ms: _latency, ...rest } = event;
  return rest;
}

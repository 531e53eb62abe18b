import { canonicalize } from '../../base/canonical.ts';
import type { CaseArtifact } from './case-shape.ts';
import type { Event } from './events.ts';
import { isLatencyRepaired } from './measured.ts';
import { contentHashOf } from './content-hash.ts';

type Of<Type extends string> = Extract<Event, { type: Type }>;

/** The result of a tool. */
export interface ToolReply {
  readonly at: number;
  readonly status: 'ok' | 'error';
  readonly payload: string;
}

interface Placed {
  /** The index of its first event. */
  readonly at: number;
  /** The indices of all its events, in order: calls and results, including those of earlier attempts. */
  readonly events: readonly number[];
  /** Calls that were open at the same time share a number; it increases along the stream. */
  readonly batch: number;
  /** Two steps with this key are the same, whatever their results. */
  readonly asks: string;
}

export interface Call extends Placed {
  readonly kind: 'call';
  readonly tool: string;
  readonly args: object;
  /** Null if the stream holds no result. After retries, the last one. */
  readonly reply: ToolReply | null;
  /** More than one if the call failed and was repeated immediately with the same arguments. */
  readonly attempts: number;
  /** The event of the last attempt. */
  readonly lastAt: number;
}

export interface Retrieval extends Placed {
  readonly kind: 'retrieval';
  readonly query: string;
  readonly docs: readonly string[];
  readonly snippets: string;
}

/** An agent's step with its result, without ids and times. */
export type Step =
  | Call
  | Retrieval
  | (Placed & { readonly kind: 'final_output'; readonly content: string })
  /** A result whose call is not among the events. */
  | (Placed & { readonly kind: 'reply'; readonly reply: ToolReply });

/**
 * An agent's steps in a stable order. Calls that were open at the same time are sorted, because their order is a
 * matter of timing. Events of other types are ignored.
 */
export function stepsOf(artifact: Pick<CaseArtifact, 'events' | 'attempts'>): Step[] {
  const { events = [] } = artifact;
  const replies = repliesOf(events);
  const answered = new Set(replies.values());
  const steps: Step[] = [];
  const batch = new Batch(!isLatencyRepaired(artifact));
  for (const [at, event] of events.entries()) {
    if (event.type === 'tool_call') {
      const reply = replies.get(at);
      const { tool, args } = event as Of<'tool_call'>;
      if (!batch.isOpenAt(at, event.ts)) steps.push(...batch.closed());
      const asks = `call\n${tool}\n${canonicalize(args)}`;
      const told = reply === undefined ? null : replyOf(events[reply] as Of<'tool_result'>, reply);
      const number = batch.number;
      const own = reply === undefined ? [at] : [at, reply];
      const placed = { at, events: own, batch: number, asks };
      const call = { kind: 'call', ...placed, tool, args, reply: told, attempts: 1, lastAt: at } as const;
      batch.add(call, event.ts, reply === undefined ? undefined : (events[reply] as Of<'tool_result'>));
      continue;
    }
    if (answered.has(at)) continue;
    const step = stepOf(event, at, batch.number + 1);
    if (step) steps.push(...batch.closed(), step);
    if (step) batch.number++;
  }
  steps.push(...batch.closed());
  return withRetries(steps);
}

/** Maps the index of each call's event to that of its result. A reused id refers to its latest call. */
function repliesOf(events: readonly Event[]): ReadonlyMap<number, number> {
  const open = new Map<string, number>();
  const replies = new Map<number, number>();
  for (const [at, event] of events.entries()) {
    if (event.type === 'tool_call') open.set((event as Of<'tool_call'>).call_id, at);
    if (event.type !== 'tool_result') continue;
    const { call_id } = event as Of<'tool_result'>;
    const call = open.get(call_id);
    if (call === undefined) continue;
    replies.set(call, at);
    open.delete(call_id);
  }
  return replies;
}

/** Calls that each began before the first of them was answered. */
class Batch {
  number = 0;
  #calls: Call[] = [];
  /** The earliest result, by position, and by clock if the clock is consistent. */
  #endsAt = Number.POSITIVE_INFINITY;
  #endsBy = Number.POSITIVE_INFINITY;
  readonly #isMeasured: boolean;

  /** `isMeasured`: whether the latencies of the tools are measurements. */
  constructor(isMeasured: boolean) {
    this.#isMeasured = isMeasured;
  }

  isOpenAt(at: number, ts: number): boolean {
    return this.#calls.length > 0 && (this.#endsAt > at || this.#endsBy > ts);
  }

  add(call: Call, ts: number, reply: Of<'tool_result'> | undefined): void {
    this.#calls.push(call);
    // A call without a result may have ended immediately.
    this.#endsAt = Math.min(this.#endsAt, call.reply?.at ?? call.at);
    const { ts: answeredAt, latency_ms: tookMs } = reply ?? { ts, latency_ms: 0 };
    const isTimed = this.#isMeasured && tookMs > 0 && answeredAt - ts >= tookMs;
    this.#endsBy = Math.min(this.#endsBy, isTimed ? answeredAt : Number.NEGATIVE_INFINITY);
  }

  closed(): Call[] {
    const calls = this.#calls;
    if (calls.length === 0) return calls;
    this.#calls = [];
    this.#endsAt = this.#endsBy = Number.POSITIVE_INFINITY;
    this.number++;
    return calls.length === 1 ? calls : inOneOrder(calls);
  }
}

function inOneOrder(calls: readonly Call[]): Call[] {
  const marked = calls.map(call => ({ call, mark: lasting(call.asks) }));
  return marked.sort((a, b) => (a.mark < b.mark ? -1 : a.mark > b.mark ? 1 : 0)).map(({ call }) => call);
}

function stepOf(event: Event, at: number, batch: number): Step | undefined {
  const placed = { at, events: [at], batch };
  switch (event.type) {
    case 'tool_result': {
      const reply = replyOf(event as Of<'tool_result'>, at);
      return { kind: 'reply', ...placed, asks: `reply\n${reply.status}\n${reply.payload}`, reply };
    }
    case 'retrieval': {
      const { query, doc_ids, snippets_hashes = [] } = event as Of<'retrieval'>;
      const snippets = snippets_hashes.join(' ');
      return { kind: 'retrieval', ...placed, asks: `retrieval\n${query}`, query, docs: doc_ids, snippets };
    }
    case 'final_output': {
      const content = canonicalize((event as Of<'final_output'>).content);
      return { kind: 'final_output', ...placed, asks: 'final_output', content };
    }
    default:
      return undefined;
  }
}

function replyOf({ status, payload_summary, payload_asset_sha256: digest }: Of<'tool_result'>, at: number): ToolReply {
  const summary = payload_summary === undefined ? '' : canonicalize(payload_summary);
  return { at, status, payload: digest === undefined ? summary : contentHashOf(digest) };
}

/** A call that failed and was repeated immediately is one step with several attempts. */
function withRetries(steps: readonly Step[]): Step[] {
  const merged: Step[] = [];
  for (const step of steps) {
    const last = merged.at(-1);
    if (last?.kind === 'call' && step.kind === 'call' && isRetry(last, step)) {
      const attempts = last.attempts + 1;
      // Extends one list, because copying it for each attempt would take quadratic time.
      const events = last.attempts === 1 ? [...last.events] : (last.events as number[]);
      events.push(...step.events);
      merged[merged.length - 1] = { ...last, events, reply: step.reply, lastAt: step.at, attempts };
    } else merged.push(step);
  }
  return merged;
}

function isRetry({ asks, reply }: Call, next: Call): boolean {
  return reply?.status === 'error' && reply.at < next.at && lasting(asks) === lasting(next.asks);
}

/** Whether two results differ in more than ids and times. */
export function isOtherReply(was: ToolReply | null, is: ToolReply | null): boolean {
  if (!was || !is) return was !== is;
  if (was.status !== is.status) return true;
  return was.payload !== is.payload && lasting(was.payload) !== lasting(is.payload);
}

/** A text without the ids and times that are generated in every run. */
export function lasting(text: string): string {
  return text.replace(PASSING, '#');
}

/** UUIDs, ISO times, and seconds or milliseconds since 1970 between 2017 and 2033. */
const PASSING =
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?|(?<!\d)1[5-9]\d{8}(?:\d{3})?(?!\d)/gi;

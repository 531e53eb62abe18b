import type { TranscriptLine } from '../contracts/agent-step/reading.ts';
import type { Event } from '../contracts/artifacts/index.ts';
import { GEN_AI, OPERATION, OWN } from './names.ts';
import type { OpenSpan, Tracer } from './tracer.ts';

/** A call of a tool, as the agent reports it. Null means unknown. */
export interface TracedCall {
  readonly tool: string;
  readonly call: string;
  /** On the clock of the list. */
  readonly startMs: number;
  endMs: number | null;
  ok: boolean | null;
  durationMs: number | null;
}

/** Pairs the calls of tools with their results. Keeps names and times, and no content. */
export class ToolCallList {
  readonly calls: TracedCall[] = [];
  total = 0;
  readonly #open = new Map<string, TracedCall>();

  /** An agent's transcript counts from the start of the agent. */
  take(line: TranscriptLine): void {
    if (line.kind === 'tool_call') this.#begin(line.call, line.tool, line.at_ms);
    if (line.kind === 'tool_result') this.#end(line.call, line.ok, line.at_ms, null);
  }

  /** The events of a reply, on the clock of the agent. */
  takeEvent(event: Event): void {
    if (isCall(event)) this.#begin(event.call_id, event.tool, event.ts);
    if (isResult(event)) this.#end(event.call_id, event.status === 'ok', event.ts, event.latency_ms);
  }

  #begin(call: string, tool: string, startMs: number): void {
    this.total++;
    if (this.calls.length >= CALLS_MAX) return;
    const one = { call, tool, startMs, endMs: null, ok: null, durationMs: null };
    this.calls.push(one);
    this.#open.set(call, one);
  }

  #end(call: string, ok: boolean, endMs: number, durationMs: number | null): void {
    const one = this.#open.get(call);
    if (!one) return;
    this.#open.delete(call);
    Object.assign(one, { ok, endMs, durationMs });
  }
}

type CallEvent = Extract<Event, { type: 'tool_call' }>;
type ResultEvent = Extract<Event, { type: 'tool_result' }>;

function isCall(event: Event): event is CallEvent {
  return event.type === 'tool_call';
}

function isResult(event: Event): event is ResultEvent {
  return event.type === 'tool_result';
}

/** The spans of one agent must not fill the queue of spans. */
const CALLS_MAX = 200;

/**
 * Adds a span for every call, below the agent's. `originMs` is when the clock of the list was 0; undefined if its times mean
 * nothing. A span whose end or place is unknown has no length, and says so.
 */
export function addToolSpans(
  tracer: Tracer,
  agent: OpenSpan,
  { calls, total }: ToolCallList,
  originMs: number | undefined,
): void {
  agent.set({ [OWN.toolCalls]: total });
  for (const { tool, call, startMs, endMs, ok, durationMs } of calls) {
    const name = plainName(tool) ?? OTHER;
    const timing = originMs === undefined ? 'unknown' : endMs === null ? 'end_unknown' : null;
    const beginMs = originMs === undefined ? agent.startMs : originMs + startMs;
    const span = tracer.begin(`${OPERATION.executeTool} ${name}`, {
      parent: agent.context,
      startMs: beginMs,
      attributes: {
        [GEN_AI.operation]: OPERATION.executeTool,
        [GEN_AI.toolName]: name,
        [GEN_AI.toolCallId]: plainName(call),
        [OWN.toolTiming]: timing,
        [OWN.toolDurationMs]: timing === 'unknown' ? durationMs : null,
      },
    });
    span.end({
      endMs: timing === null && endMs !== null ? beginMs + endMs - startMs : beginMs,
      errorType: ok === false ? 'tool_error' : undefined,
    });
  }
}

const OTHER = '_OTHER';

/** A name or an id; undefined for any other text, which could be content. */
export function plainName(text: string): string | undefined {
  return /^[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}$/.test(text) ? text : undefined;
}

/** The name of a model may also have slashes. */
export function plainModel(text: string | null | undefined): string | undefined {
  return /^[A-Za-z0-9][A-Za-z0-9_.:@/-]{0,127}$/.test(text ?? '') ? (text ?? undefined) : undefined;
}

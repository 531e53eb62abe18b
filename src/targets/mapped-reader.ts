import { isUtf8 } from 'node:buffer';
import { canonicalize } from '../base/canonical.ts';
import { MIB } from '../contracts/contract.ts';
import type { ReplyMapping } from '../contracts/target/mapping.ts';
import type { TargetPrice } from '../contracts/target/index.ts';
import type { ReplyForm } from './kinds/kind.ts';
import { firstOutputMs, type StreamFrame, FRAME_BYTES_MAX, FRAMES_MAX, readFrames } from './mapping/frames.ts';
import { applyMapping, compileMapping, type MappedReply } from './mapping/mapping.ts';
import { pathAt } from './mapping/mapping-error.ts';
import { type CompiledPath, compilePath, selectAll } from './mapping/path.ts';
import { StepBudget, withinSteps } from './mapping/step-budget.ts';
import {
  checkReply,
  mismatch,
  readReplyJson,
  refusedReply,
  type ReplyNames,
  type ReplyReading,
  type UnreadableReply,
} from './reply.ts';
import type { ReplyEnd } from './reply-end.ts';

/** A reply as it is stored: masked, and with the arrival times of its frames if it is a stream. */
export interface KeptReply {
  readonly body: Buffer;
  readonly frameMs?: readonly number[];
}

/** Reads stored replies. Pure, because the verifier repeats it. */
export type ReplyReader = (
  kept: KeptReply,
  names: Omit<ReplyNames, 'isLenient'>,
) => ReplyReading & {
  /** Time to the first output, for a streamed reply. */
  readonly ttftMs?: number;
};

export interface MappedReplies {
  readonly form: ReplyForm;
  readonly price?: TargetPrice | undefined;
  readonly isLenient: boolean;
  readonly bytesMax: number;
  readonly end?: ReplyEnd | undefined;
}

/** Reads replies by a mapping. Throws a MappingError if the mapping is not valid. */
export function mappedReader({ form, price, isLenient, bytesMax, end }: MappedReplies): ReplyReader {
  const mapping = compileMapping(form.mapping);
  const firstOutput = form.firstOutput === undefined ? undefined : pathAt('first_output', form.firstOutput, '$@');
  const last = form.last === undefined ? undefined : compilePath(form.last);
  const gaps = gapsIn(form.mapping);
  return (kept, names) => {
    const document = documentOf(kept, form.as, bytesMax);
    if (!document.ok) return document;
    const mapped = applyMapping(mapping, document.value);
    const failure =
      failureOf(mapped) ?? end?.(document.value, document.endsInFrame) ?? (last && cutStream(last, document.value));
    if (failure || !mapped.ok) return failure ?? TOO_COMPLEX;
    const { reply, usage, model } = mapped;
    const { events, unmeasured } = withoutGaps(form.repeats ? withoutRepeats(reply.events) : reply.events, gaps);
    const cost = withCost(usage, price);
    const said = {
      ...reply,
      events,
      ...(Object.keys(cost).length > 0 && { usage: cost }),
      ...(model !== undefined && { model }),
    };
    const reading = checkReply(said, { ...names, isLenient });
    if (!reading.ok) return reading;
    const ttftMs = firstOutput && document.frames ? firstOutputMs(firstOutput, document.frames) : null;
    return {
      ...reading,
      ...(unmeasured > 0 && { repairs: { ...reading.repairs, R9: (reading.repairs.R9 ?? 0) + unmeasured } }),
      ...(ttftMs !== null && { ttftMs }),
    };
  };
}

/** A server that dies while it sends may end its stream properly, as far as HTTP can tell. */
function cutStream(last: CompiledPath, document: unknown): UnreadableReply | undefined {
  const found = withinSteps(() => selectAll(last, document, new StepBudget())) ?? [];
  return found.length > 0 ? undefined : mismatch('The stream ended before its last event.');
}

const TOO_COMPLEX = mismatch('The mapping takes too many steps on a reply of this size.');

type ReplyDocument =
  | UnreadableReply
  | {
      readonly ok: true;
      readonly value: unknown;
      readonly frames?: readonly StreamFrame[];
      readonly endsInFrame?: boolean;
    };

/** A stream becomes a document with a list of frames, and a plain text a document with one key. */
export function documentOf({ body, frameMs }: KeptReply, as: ReplyForm['as'], bytesMax: number): ReplyDocument {
  if (as === 'json') return readReplyJson(body, bytesMax);
  if (as === 'text') return textDocument(body);
  if (!isUtf8(body)) return { ok: false, class: 'invalid_json', message: 'The stream is not UTF-8.' };
  const reading = readFrames(body, as, frameMs);
  if (!reading.ok) return mismatch(UNREADABLE_STREAM[reading.reason]);
  const { document, refused, endsInFrame } = reading;
  if (refused) return refusedReply(refused.code, `Frame ${refused.frame + 1} of the stream: ${refused.message}`);
  if (document.frames.length === 0) return { ok: false, class: 'invalid_json', message: NO_FRAMES[as] };
  return { ok: true, value: document, frames: document.frames, endsInFrame };
}

/** The text without its last line break. */
function textDocument(body: Buffer): ReplyDocument {
  if (!isUtf8(body)) return mismatch('The answer is not valid UTF-8.');
  return { ok: true, value: { text: body.toString().replace(/\r?\n$/, '') } };
}

const NO_FRAMES = {
  sse: 'The reply has no server-sent events.',
  ndjson: 'The reply has no lines of JSON.',
};

const UNREADABLE_STREAM = {
  too_many_frames: `The stream has more than ${FRAMES_MAX.toLocaleString('en-US')} frames.`,
  frame_too_large: `A frame of the stream is larger than ${FRAME_BYTES_MAX / MIB} MiB.`,
};

/** The failure that the agent reports, or an output that is missing. */
function failureOf(mapped: MappedReply): UnreadableReply | undefined {
  if (!mapped.ok) return undefined;
  if (mapped.failed !== undefined) {
    return { ...mismatch(`The agent reported a failure: ${mapped.failed}`), errorName: 'AGENT_FAILED' };
  }
  return mapped.reply.final_output === undefined
    ? mismatch('The mapping found no final output in the reply.')
    : undefined;
}

type MappedEvents = readonly Readonly<Record<string, unknown>>[];

/** Drops events that differ from another one only in time. Different arguments make a different call. */
function withoutRepeats(events: MappedEvents): MappedEvents {
  const seen = new Set<string>();
  return events.filter(event => {
    if (typeof event['call_id'] !== 'string') return true;
    const text = canonicalize({ ...event, ts: 0 });
    return seen.size !== seen.add(text).size;
  });
}

/** The event types for which a mapping does not say when they happened, or how long they took. */
interface Gaps {
  readonly ts: ReadonlySet<string>;
  readonly latency: boolean;
}

function gapsIn({ events = [] }: ReplyMapping): Gaps {
  const stated = new Set(events.filter(rule => 'ts' in rule).map(({ as }) => as));
  return {
    ts: new Set(events.map(({ as }) => as).filter(as => !stated.has(as))),
    latency: !events.some(rule => rule.as === 'tool_result' && 'latency_ms' in rule),
  };
}

/**
 * Fills in what the protocol does not state: the position of an event in place of its time, and 0 for a latency. The
 * latter counts as a repair even in a strict reading, because it is not a measurement.
 */
function withoutGaps(events: MappedEvents, gaps: Gaps) {
  let unmeasured = 0;
  const filled = events.map((event, index) => {
    const type = String(event['type']);
    const isUnmeasured = type === 'tool_result' && gaps.latency && event['latency_ms'] === undefined;
    if (isUnmeasured) unmeasured++;
    return {
      ...withTextIds(event),
      ...(gaps.ts.has(type) && { ts: index }),
      ...(isUnmeasured && { latency_ms: 0 }),
    };
  });
  return { events: filled, unmeasured };
}

/** APIs count calls with numbers; artifacts name them with texts. */
function withTextIds(event: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const named = ID_KEYS.filter(key => typeof event[key] === 'number').map(key => [key, String(event[key])]);
  return named.length === 0 ? { ...event } : { ...event, ...Object.fromEntries(named) };
}

const ID_KEYS = ['call_id', 'action_id', 'id'];

type Usage = Extract<MappedReply, { ok: true }>['usage'];

/** Computes the cost from tokens, if the API does not state it and the declaration has prices. */
function withCost(usage: Usage, price: TargetPrice | undefined): Usage {
  const { cost_usd, input_tokens, output_tokens } = usage;
  if (!price || cost_usd !== undefined || input_tokens === undefined || output_tokens === undefined) return usage;
  return { ...usage, cost_usd: (input_tokens * price.input + output_tokens * price.output) / 1e6 };
}

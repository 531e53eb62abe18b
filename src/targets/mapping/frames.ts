import { readJson } from '../../base/json.ts';
import { type RefusalCode, utf8Text } from '../../base/json-refusal.ts';
import { ndjsonLines, sseLines } from './frame-lines.ts';
import { type CompiledPath, selectAll } from './path.ts';
import { StepBudget, withinSteps } from './step-budget.ts';

/** One frame of a stream. Every frame of NDJSON is a `message`, the default of server-sent events. */
export interface StreamFrame {
  readonly event: string;
  /** The value, if the data is JSON; otherwise its text. */
  readonly data: unknown;
  /** When it arrived, in milliseconds after the request; null if unknown. */
  readonly at_ms: number | null;
}

export type StreamFormat = 'sse' | 'ndjson';

export type FramesReading =
  | {
      readonly ok: true;
      /** A stream is a document too: mappings read it with paths such as `$.frames[*].data`. */
      readonly document: { readonly frames: readonly StreamFrame[] };
      /** The stream ended within a frame, which is dropped, as the specification of server-sent events says. */
      readonly endsInFrame: boolean;
      /** The first frame whose data is JSON that the strict reader refuses, such as a repeated key. It stays a text. */
      readonly refused?: RefusedFrame;
    }
  | { readonly ok: false; readonly reason: 'too_many_frames' | 'frame_too_large' };

interface RefusedFrame {
  readonly frame: number;
  readonly code: RefusalCode;
  readonly message: string;
}

export const FRAMES_MAX = 200_000;
export const FRAME_BYTES_MAX = 4 * 1024 * 1024;

/** Reads the stored bytes of a stream. `arrivals` has the time of each frame, as FrameCounter counted them. */
export function readFrames(bytes: Uint8Array, format: StreamFormat, arrivals?: readonly number[]): FramesReading {
  const frames: StreamFrame[] = [];
  const parts = format === 'sse' ? sseParts(bytes) : ndjsonParts(bytes);
  let endsInFrame = false;
  let refused: RefusedFrame | undefined;
  for (const { event, data: raw, isComplete } of parts) {
    if (!isComplete) {
      endsInFrame = true;
      break;
    }
    if (frames.length === FRAMES_MAX) return { ok: false, reason: 'too_many_frames' };
    if (raw === null) return { ok: false, reason: 'frame_too_large' };
    const { data, refusal } = dataOf(raw, format);
    if (refusal) refused ??= { frame: frames.length, ...refusal };
    frames.push({ event, data, at_ms: arrivals?.[frames.length] ?? null });
  }
  return { ok: true, document: { frames }, endsInFrame, ...(refused && { refused }) };
}

/** A frame before its data is read. `data` is null if it is too large. */
interface Part {
  readonly event: string;
  readonly data: Uint8Array | null;
  readonly isComplete: boolean;
}

/** Server-sent events as the WHATWG specification reads them, without `id` and `retry`, which only matter to reconnect. */
function* sseParts(bytes: Uint8Array): Generator<Part> {
  let event = '';
  let data: Uint8Array[] = [];
  let hasFields = false;
  for (const line of sseLines(bytes)) {
    if (line.length === 0) {
      if (data.length > 0) yield { event: event === '' ? 'message' : event, data: joined(data), isComplete: true };
      event = '';
      data = [];
      hasFields = false;
      continue;
    }
    const { name, value } = fieldOf(line);
    if (name === '') continue;
    hasFields = true;
    if (name === 'data') data.push(value);
    if (name === 'event') event = utf8Text(value.subarray(0, EVENT_BYTES_MAX));
  }
  if (hasFields) yield { event, data: null, isComplete: false };
}

const EVENT_BYTES_MAX = 1_000;

/** The name of a field, and its value without the one space that may follow the colon. A comment has no name. */
function fieldOf(line: Uint8Array): { readonly name: string; readonly value: Uint8Array } {
  const colon = line.indexOf(COLON);
  if (colon < 0) return { name: nameOf(line), value: line.subarray(line.length) };
  const start = line[colon + 1] === SPACE ? colon + 2 : colon + 1;
  return { name: nameOf(line.subarray(0, colon)), value: line.subarray(start) };
}

const COLON = 0x3a;
const SPACE = 0x20;

/** No field that means anything has a long name. */
const nameOf = (bytes: Uint8Array): string => (bytes.length > 10 ? 'unknown' : utf8Text(bytes));

/** Lines of data with line feeds between them; null if that is too large. */
function joined(lines: readonly Uint8Array[]): Uint8Array | null {
  const [first, second] = lines;
  const size = lines.reduce((sum, line) => sum + line.length + 1, -1);
  if (size > FRAME_BYTES_MAX) return null;
  if (first && !second) return first;
  return Buffer.concat(lines.flatMap((line, index) => (index === 0 ? [line] : [FEED, line])));
}

const FEED = Buffer.from('\n');

function* ndjsonParts(bytes: Uint8Array): Generator<Part> {
  for (const line of ndjsonLines(bytes)) {
    yield { event: 'message', data: line.length > FRAME_BYTES_MAX ? null : line, isComplete: true };
  }
}

/**
 * Reads JSON, or keeps the text. Server-sent events may be plain text with a token such as `null` or `1.0`, so only their
 * objects, lists and strings are read.
 */
function dataOf(
  bytes: Uint8Array,
  format: StreamFormat,
): { readonly data: unknown; readonly refusal?: Omit<RefusedFrame, 'frame'> } {
  if (format === 'sse' && !STRUCTURED.has(bytes[0] ?? 0)) return { data: utf8Text(bytes) };
  const reading = readJson(bytes, { bytesMax: FRAME_BYTES_MAX });
  if (reading.ok) return { data: reading.value };
  const { code, message } = reading.refusal;
  const mayBeText = format === 'sse' && NOT_JSON.has(code);
  return { data: utf8Text(bytes), ...(!mayBeText && { refusal: { code, message } }) };
}

const STRUCTURED: ReadonlySet<number> = new Set(Buffer.from('{["'));

/** The text is not JSON at all, such as `[DONE]`. */
const NOT_JSON: ReadonlySet<string> = new Set(['syntax', 'trailing_bytes']);

/** When the first output arrived: `at_ms` of the first frame in which the path leads to something that is not empty. */
export function firstOutputMs(path: CompiledPath, frames: readonly StreamFrame[]): number | null {
  const budget = new StepBudget();
  const first = withinSteps(() => frames.find(frame => selectAll(path, frame, budget).some(isFilled)));
  return first?.at_ms ?? null;
}

function isFilled(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value !== null && value !== '';
  return Array.isArray(value) ? value.length > 0 : Object.keys(value).length > 0;
}

import { isUtf8 } from 'node:buffer';
import type { ScriptOutcome } from '../../contracts/script-outcome/shape.ts';
import type { PageLine, PageStream, PageText } from './run-data.ts';

/** A stream of a run: its size, and the first and last lines of its file. */
export function streamPart(
  { name, bytes_total, bytes_kept, truncated, masked }: ScriptOutcome['streams'][number],
  file: string,
  bytes: Uint8Array | undefined,
): PageStream {
  const text = bytes ? streamLines(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)) : null;
  return { name, bytes_total, bytes_kept, is_truncated: truncated, masked, file, text };
}

/** A page shows at most this much from the beginning of a stream, and as much from its end. */
const LINES_MAX = 1_000;
const BYTES_MAX = 150_000;
const LINE_BYTES_MAX = 4_000;

/** Does not split the whole stream, because it may have millions of lines. */
export function streamLines(bytes: Buffer): PageText {
  const end = bytes.at(-1) === LF ? bytes.length - 1 : bytes.length;
  const first = bytes.length === 0 ? { lines: [], at: end + 1 } : firstLines(bytes, end);
  const last = lastLines(bytes, first.at, end);
  const lines = [...first.lines, ...last.lines];
  const missing = linesBetween(bytes, first.at, last.at);
  return {
    lines,
    gap: missing === 0 ? null : { after: first.lines.length, lines: missing },
    is_utf8: isUtf8(bytes),
  };
}

const LF = 0x0a;

interface Taken {
  readonly lines: PageLine[];
  /** Where the next line begins or, from the end, where the first taken line begins. */
  readonly at: number;
}

function firstLines(bytes: Buffer, end: number): Taken {
  const lines: PageLine[] = [];
  let at = 0;
  for (let room = BYTES_MAX; at <= end && lines.length < LINES_MAX && room > 0; ) {
    const next = lineEnd(bytes, at, end);
    lines.push(lineOf(bytes.subarray(at, next)));
    room -= Math.min(next - at, LINE_BYTES_MAX) + 1;
    at = next + 1;
  }
  return { lines, at };
}

/** The last lines, none of which begins before `from`. */
function lastLines(bytes: Buffer, from: number, end: number): Taken {
  const lines: PageLine[] = [];
  let after = end;
  for (let room = BYTES_MAX; after >= from && lines.length < LINES_MAX && room > 0; ) {
    const at = after === 0 ? 0 : bytes.lastIndexOf(LF, after - 1) + 1;
    lines.push(lineOf(bytes.subarray(at, after)));
    room -= Math.min(after - at, LINE_BYTES_MAX) + 1;
    after = at - 1;
  }
  return { lines: lines.reverse(), at: after + 1 };
}

function lineEnd(bytes: Buffer, at: number, end: number): number {
  const found = bytes.indexOf(LF, at);
  return found < 0 || found > end ? end : found;
}

/** A carriage return before a line feed is part of the line ending. */
function lineOf(bytes: Buffer): PageLine {
  const line = bytes.at(-1) === 0x0d ? bytes.subarray(0, -1) : bytes;
  if (line.length <= LINE_BYTES_MAX) return line.toString();
  const kept = new TextDecoder('utf-8', { ignoreBOM: true }).decode(line.subarray(0, LINE_BYTES_MAX), { stream: true });
  return [kept, line.length - Buffer.byteLength(kept)];
}

/** How many lines begin from `from` on and before `to`. */
function linesBetween(bytes: Buffer, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to && at >= 0; count++) {
    const found = bytes.indexOf(LF, at);
    at = found < 0 ? to : found + 1;
  }
  return count;
}

import type { Span } from '../../base/mask-stage.ts';
import { Masker, type Masking } from '../../base/masker.ts';

/**
 * Masks secrets that are split across the events of a stream, because a model may send one word in several events.
 * Joins the texts at the same path in events of the same kind, and searches the result.
 */
export function maskedEvents(text: string, masking: Masking): { readonly text: string; readonly masked: number } {
  const lines = text.split('\n');
  const threads = threadsIn(lines);
  const changed = new Set<number>();
  let masked = 0;
  for (const pieces of threads.values()) {
    if (pieces.length < 2) continue;
    const bytes = pieces.map(({ text: piece }) => Buffer.from(piece));
    const spans = new Masker(masking).spans(Buffer.concat(bytes));
    // Secrets within one piece are found here, too.
    if (spans.length === 0) continue;
    masked += spans.length;
    for (const [index, part] of shared(bytes, spans).entries()) {
      const { line, holder, key } = pieces[index] as Piece;
      holder[key] = part;
      changed.add(line);
    }
  }
  if (masked === 0) return { text, masked };
  const events = eventsOf(lines);
  for (const line of changed) {
    const event = events.get(line);
    if (event) lines[line] = `${event.before}${JSON.stringify(event.value)}${event.after}`;
  }
  return { text: lines.join('\n'), masked };
}

interface Piece {
  readonly line: number;
  readonly holder: Record<string, unknown>;
  readonly key: string;
  readonly text: string;
}

interface EventLine {
  readonly before: string;
  readonly value: unknown;
  readonly after: string;
}

const EVENTS = new WeakMap<readonly string[], Map<number, EventLine>>();

/** The parsed events by line number. */
function eventsOf(lines: readonly string[]): Map<number, EventLine> {
  const known = EVENTS.get(lines);
  if (known) return known;
  const events = new Map<number, EventLine>();
  for (const [number, line] of lines.entries()) {
    const [, before = '', json = '', after = ''] = /^(data: ?)(\{.*\})(\r?)$/.exec(line) ?? [];
    if (json === '') continue;
    try {
      events.set(number, { before, value: JSON.parse(json), after });
    } catch {
      // An incomplete event at the end of an interrupted answer.
    }
  }
  EVENTS.set(lines, events);
  return events;
}

function threadsIn(lines: readonly string[]): Map<string, Piece[]> {
  const threads = new Map<string, Piece[]>();
  for (const [line, { value }] of eventsOf(lines)) {
    const { index = '', output_index = '', content_index = '', item_id = '' } = value as Record<string, unknown>;
    const thread = `${String(index)}/${String(output_index)}/${String(content_index)}/${String(item_id)}`;
    collect(value, thread, '', line, threads, 0);
  }
  return threads;
}

function collect(
  value: unknown,
  thread: string,
  at: string,
  line: number,
  threads: Map<string, Piece[]>,
  depth: number,
): void {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return;
  for (const [key, member] of Object.entries(value)) {
    const place = `${at}.${key}`;
    if (typeof member !== 'string') {
      collect(member, thread, place, line, threads, depth + 1);
      continue;
    }
    const name = `${thread}${place}`;
    const pieces = threads.get(name) ?? [];
    if (pieces.length === 0) threads.set(name, pieces);
    pieces.push({ line, holder: value as Record<string, unknown>, key, text: member });
  }
}

/** The pieces without secrets. The mask is in the piece where the secret starts. */
function shared(pieces: readonly Buffer[], spans: readonly Span[]): string[] {
  let begin = 0;
  return pieces.map(piece => {
    const first = begin;
    begin += piece.length;
    const parts: string[] = [];
    let at = first;
    for (const { from, to } of spans) {
      if (to <= first || from >= begin) continue;
      parts.push(piece.toString('utf8', at - first, Math.max(at, from) - first), from >= first ? '[masked]' : '');
      at = Math.min(begin, to);
    }
    return parts.join('') + piece.toString('utf8', at - first);
  });
}

const DEPTH_MAX = 16;

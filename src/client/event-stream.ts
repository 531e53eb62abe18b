import { Fault } from '../base/fault.ts';
import type { ServerEvent } from './answers.ts';

/** Parses a stream of server-sent events. Ends when the connection ends. */
export async function* eventsIn(response: Response): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  let frame: string[] = [];
  try {
    for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? '';
      if (rest.length > LINE_UNITS_MAX || frame.length > LINES_MAX)
        throw new Fault('answer_too_large', 'An event of the server exceeds 16 MiB.');
      for (const line of lines) {
        if (line !== '') frame.push(line);
        else {
          const event = eventOf(frame);
          frame = [];
          if (event) yield event;
        }
      }
    }
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('unreachable', 'The connection to the server was lost.', { cause });
  }
}

/** Undefined for a comment, which only keeps the connection alive. */
function eventOf(lines: readonly string[]): ServerEvent | undefined {
  let event = 'message';
  let id: string | null = null;
  const data: string[] = [];
  for (const line of lines) {
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'event') event = value;
    if (field === 'id') id = value;
    if (field === 'data') data.push(value);
  }
  if (data.length === 0) return undefined;
  return { event, id, data: jsonIn(data.join('\n')) };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const LINE_UNITS_MAX = 16 * 1024 ** 2;
const LINES_MAX = 10_000;

import { readJson } from '../../base/json.ts';
import type { Event } from '../../contracts/artifacts/index.ts';
import type { AgentEvent, TranscriptLine } from '../../contracts/agent-step/reading.ts';
import { isObject } from '../../contracts/kind.ts';

/** An agent's tool calls and their results, as events of a case artifact, in the order received. */
export class AgentEvents {
  readonly list: Event[] = [];
  /** Events dropped because they exceed the byte limit. */
  leftOut = 0;
  #room: number;
  readonly #called = new Map<string, number>();

  constructor(bytesMax: number) {
    this.#room = bytesMax;
  }

  take(line: TranscriptLine): void {
    if (line.kind !== 'tool_call' && line.kind !== 'tool_result') return;
    const event = line.kind === 'tool_call' ? callOf(line) : this.#resultOf(line);
    if (line.kind === 'tool_call') this.#called.set(line.call, line.at_ms);
    const bytes = Buffer.byteLength(JSON.stringify(event));
    // Drop everything after the first event that does not fit: a list with a gap would mislead.
    if (this.leftOut > 0 || bytes > this.#room) this.leftOut++;
    else {
      this.#room -= bytes;
      this.list.push(event);
    }
  }

  #resultOf({ call, ok, output, at_ms }: Line<'tool_result'>): Event {
    return {
      type: 'tool_result',
      ts: at_ms,
      call_id: call,
      status: ok ? 'ok' : 'error',
      latency_ms: at_ms - (this.#called.get(call) ?? at_ms),
      payload_summary: output.text,
    };
  }
}

type Line<Kind extends AgentEvent['kind']> = TranscriptLine & { readonly kind: Kind };

function callOf({ call, tool, input, at_ms }: Line<'tool_call'>): Event {
  const reading = readJson(Buffer.from(input.text), { bytesMax: Buffer.byteLength(input.text) });
  const args = reading.ok && isObject(reading.value) ? reading.value : { input: input.text };
  return { type: 'tool_call', ts: at_ms, call_id: call, tool, args };
}

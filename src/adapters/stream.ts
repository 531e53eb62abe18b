import { isUtf8 } from 'node:buffer';
import { textOf } from '../base/json-refusal.ts';
import type {
  AgentEvent,
  AgentReader,
  AgentReading,
  EndFacts,
  LineReading,
  ModelSpeech,
} from '../contracts/agent-step/reading.ts';
import type { ReaderOptions } from './agent.ts';
import type { Calls, Denials } from './calls.ts';
import { asksForInput } from './prompt.ts';
import { brief, objectIn, type Said } from './said.ts';

/** What the lines of one family mean. */
export interface Protocol {
  /** Undefined for a line of a type that it does not know. */
  line(said: Said, number: number): LineReading | undefined;
  /** Undefined where it means nothing more than that the agent gets on. */
  heard?(speech: ModelSpeech): LineReading | undefined;
  readonly calls: Calls;
  readonly denials: Denials;
  end(facts: EndFacts): Omit<AgentReading, 'lines' | 'denials' | 'denialCount'>;
}

/** Reads any bytes as lines of a protocol, and never throws. What is no line of it is counted and means nothing. */
export function agentReader(protocol: Protocol, { approval }: Pick<ReaderOptions, 'approval'>): AgentReader {
  const lines = { total: 0, unknown: 0, broken: 0, oversized: 0 };
  let notes = 0;

  /** A flood of lines that mean nothing may not become a flood of notes. */
  function noted(text: string): LineReading {
    if (++notes > NOTES_MAX) return NOTHING;
    return { events: [{ kind: 'note', level: 'warning', text }] };
  }

  function broken(text: string | undefined): LineReading {
    lines.broken++;
    if (text === undefined) return noted('A line is not UTF-8.');
    if (!asksForInput(text)) return noted(`A line is not JSON: ${brief(text)}`);
    return { events: [{ kind: 'note', level: 'error', text: brief(text) }], sign: 'kill', reason: 'prompt_detected' };
  }

  return {
    line(bytes) {
      lines.total++;
      if (bytes === null) {
        lines.oversized++;
        return noted('A line is longer than a line may be.');
      }
      const text = textOf(bytes);
      // Bytes that are no UTF-8 become this letter, and hardly any other line has it.
      if (text.includes('\ufffd') && !isUtf8(bytes)) return broken(undefined);
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch {
        return text.trim() === '' ? NOTHING : broken(text);
      }
      const before = protocol.denials.count;
      const said = objectIn(value);
      const reading = said && protocol.line(said, lines.total);
      if (!reading) {
        lines.unknown++;
        return ALIVE;
      }
      const isDenied = protocol.denials.count > before;
      return isDenied && approval === 'fail_on_prompt' && reading.sign !== 'terminal' && reading.sign !== 'kill'
        ? { events: reading.events, sign: 'kill', reason: 'denied_tool' }
        : reading;
    },
    heard: speech => protocol.heard?.(speech) ?? progress([]),
    get inFlight() {
      return protocol.calls.inFlight;
    },
    end(facts) {
      const { list, count } = protocol.denials;
      return { ...protocol.end(facts), denials: [...list], denialCount: count, lines: { ...lines } };
    },
  };
}

const NOTHING: LineReading = { events: [] };

/** The agent is there, and did not get on. */
export const ALIVE: LineReading = { events: [], sign: 'alive' };

export function alive(...events: AgentEvent[]): LineReading {
  return { events, sign: 'alive' };
}

export function progress(events: readonly AgentEvent[]): LineReading {
  return { events, sign: 'progress' };
}

/** One line of an agent becomes at most so many of the transcript. */
export const EVENTS_MAX = 1_000;

const NOTES_MAX = 1_000;

import { isUtf8 } from 'node:buffer';
import { utf8Text } from '../base/json-refusal.ts';
import type {
  AgentEvent,
  AgentReader,
  AgentReading,
  EndFacts,
  LineReading,
  ModelOutput,
} from '../contracts/agent-step/reading.ts';
import type { ReaderOptions } from './agent.ts';
import type { Calls, Denials } from './calls.ts';
import { asksForInput } from './prompt.ts';
import { brief, objectIn, type StreamObject } from './json-values.ts';

/** Interprets the lines of one agent family. */
export interface Protocol {
  /** Undefined for a line of an unknown type. */
  line(said: StreamObject, number: number): LineReading | undefined;
  /** Undefined if the output shows only that the agent is making progress. */
  heard?(speech: ModelOutput): LineReading | undefined;
  readonly calls: Calls;
  readonly denials: Denials;
  end(facts: EndFacts): Omit<AgentReading, 'lines' | 'denials' | 'denialCount'>;
}

/** Reads arbitrary bytes as lines of a protocol. Counts and ignores other lines. Never throws. */
export function agentReader(protocol: Protocol, { approval }: Pick<ReaderOptions, 'approval'>): AgentReader {
  const lines = { total: 0, unknown: 0, broken: 0, oversized: 0 };
  let notes = 0;

  /** Limits the notes, so that a flood of invalid lines does not fill the transcript. */
  function noted(text: string): LineReading {
    if (++notes > NOTES_MAX) return NOTHING;
    return { events: [{ kind: 'note', level: 'warning', text }] };
  }

  function broken(text: string | undefined): LineReading {
    lines.broken++;
    if (text === undefined) return noted('A line is not UTF-8.');
    if (!asksForInput(text)) return noted(`A line is not JSON: ${brief(text)}`);
    return { ...PROMPT, events: [{ kind: 'note', level: 'error', text: brief(text) }] };
  }

  return {
    line(bytes) {
      lines.total++;
      if (bytes === null) {
        lines.oversized++;
        return noted('A line exceeds the size limit.');
      }
      const text = utf8Text(bytes);
      // Decoding turns invalid bytes into U+FFFD. Valid lines rarely contain it, so the slow check is rare.
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

/** The agent is alive, but made no progress. */
export const ALIVE: LineReading = { events: [], sign: 'alive' };

export function alive(...events: AgentEvent[]): LineReading {
  return { events, sign: 'alive' };
}

export function progress(events: readonly AgentEvent[]): LineReading {
  return { events, sign: 'progress' };
}

/** The agent is waiting for an answer, so it must be stopped. */
export const PROMPT: LineReading = { events: [], sign: 'kill', reason: 'prompt_detected' };

/** One line of agent output yields at most this many transcript lines. */
export const EVENTS_MAX = 1_000;

const NOTES_MAX = 1_000;

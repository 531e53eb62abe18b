/** How much of a text of the agent's a line of the transcript holds; what is cut is still whole in the native stream. */
export const TEXT_BYTES_MAX = 64 * 1024;

/** A text of the agent's, as much of it as a line of the transcript holds. */
export interface Clipped {
  readonly text: string;
  /** How long it was, where it was cut. */
  readonly bytes_total?: number;
}

/** What a line of an agent's own stream says, in words that are the same for every agent. */
export type AgentEvent =
  | { readonly kind: 'message'; readonly role: 'assistant' | 'user'; readonly body: Clipped }
  | { readonly kind: 'thinking'; readonly body: Clipped }
  | {
      readonly kind: 'tool_call';
      readonly call: string;
      readonly tool: string;
      /** The input as JSON. */
      readonly input: Clipped;
      /** What it runs, if it runs a command. */
      readonly command?: Clipped;
      /** The file that it is about, as the agent named it. */
      readonly path?: string;
    }
  | {
      readonly kind: 'tool_result';
      readonly call: string;
      readonly ok: boolean;
      readonly output: Clipped;
      readonly exit_code: number | null;
    }
  | { readonly kind: 'file_change'; readonly path: string; readonly change: 'add' | 'update' | 'delete' }
  | { readonly kind: 'denial'; readonly call: string | null; readonly tool: string; readonly reason: string }
  | {
      readonly kind: 'retry';
      readonly attempt: number | null;
      readonly status: number | null;
      readonly message: string;
    }
  | { readonly kind: 'usage'; readonly usage: AgentUsage }
  | { readonly kind: 'final'; readonly ok: boolean; readonly body: Clipped | null }
  | { readonly kind: 'note'; readonly level: 'info' | 'warning' | 'error'; readonly text: string };

/** What an agent says it has used. Null where it does not say. */
export interface AgentUsage {
  readonly turns: number | null;
  readonly input_tokens: number | null;
  readonly cached_input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly cost_usd: number | null;
}

/** A line of the normalised transcript. */
export type TranscriptLine = {
  readonly schema_version: 'transcript-line.v1';
  /** From 1, without a gap. */
  readonly seq: number;
  /** Milliseconds from the start of the agent to the arrival of the native line. */
  readonly at_ms: number;
  /** Which line of the native stream it was made of, from 1. */
  readonly native_line: number;
} & AgentEvent;

/** Why a step ended as it did. */
export const REASONS = [
  'ok',
  'auth_missing',
  'api_error',
  'limit_turns',
  'limit_budget',
  'limit_output',
  'denied_tool',
  'prompt_detected',
  'incomplete_stream',
  'protocol_error',
  'spawn_failed',
  'exit_nonzero',
  'signal',
  'stalled',
  'wall_clock',
  'cancelled',
  'orphan_left',
  'schema_missing',
  'unsupported_version',
  'forbidden_path',
  'forbidden_operation',
  'protected_branch',
  'out_of_memory',
  'interrupted',
  'runner_failed',
] as const;

export type Reason = (typeof REASONS)[number];

/** Reasons that say nothing of the agent: its model could not be asked, or the machine or the caller ended the run. */
export const NOT_OF_THE_AGENT: ReadonlySet<Reason> = new Set<Reason>([
  'auth_missing',
  'api_error',
  'spawn_failed',
  'unsupported_version',
  'cancelled',
  'interrupted',
  'runner_failed',
]);

/** What one line of the native stream means for whoever watches the agent. */
export interface LineReading {
  readonly events: readonly AgentEvent[];
  /**
   * `progress`: the agent got on; `alive`: it is there, and did not; `terminal`: it has said its last line; `kill`: it must
   * not go on.
   */
  readonly sign?: 'progress' | 'alive' | 'terminal' | 'kill';
  /** With `kill`. */
  readonly reason?: Reason;
}

/** A tool call that was not allowed. */
export interface Denial {
  readonly tool: string;
  readonly call: string | null;
  readonly reason: string;
  /** The file it was about, as the agent named it. */
  readonly path: string | null;
  /** It would have reached for the network. */
  readonly isNetwork: boolean;
  /** It asks the user, and nobody is there to answer. */
  readonly isQuestion?: true;
  /** The agent denied nothing: a tool failed, and its output or its path says why. */
  readonly fromOutput?: true;
  readonly native_line: number;
}

/** All that the stream of an agent said, once it is over. */
export interface AgentReading {
  /** Its last line, if there was one: whether it tells of success, and its own word for the reason. */
  readonly terminal: { readonly ok: boolean; readonly word: string } | null;
  readonly finalText: string | null;
  /** What went wrong by the agent's own account. */
  readonly failure: { readonly reason: Reason; readonly status: number | null; readonly detail: string } | null;
  readonly denials: readonly Denial[];
  /** How many denials there were; only the first ones are listed. */
  readonly denialCount: number;
  readonly usage: AgentUsage;
  readonly session: string | null;
  readonly model: string | null;
  readonly lines: {
    readonly total: number;
    /** Of a type that nobody here knows. They are kept, and mean nothing. */
    readonly unknown: number;
    /** Not JSON, or not UTF-8. */
    readonly broken: number;
    /** Longer than a line may be. They are kept as far as the stream is, and mean nothing. */
    readonly oversized: number;
  };
}

/** What is known when the program has ended, besides its stream. */
export interface EndFacts {
  /** The file in which some agents leave their last message. */
  readonly lastMessage: string | null;
}

/** A piece of what the model answers. */
export interface ModelSpeech {
  /** With it an answer begins. */
  readonly isFirst: boolean;
  /** How many whole answers there were when this one began. */
  readonly answersBefore: number;
}

/** A pure fold over the native stream of one run. */
export interface AgentReader {
  /** A line without its line feed; null for one that was longer than a line may be. */
  line(bytes: Uint8Array | null): LineReading;
  /** What the door heard. It has no events, and changes nothing of the reading at the end. */
  heard(speech: ModelSpeech): LineReading;
  /** How many tool calls the agent waits for. */
  readonly inFlight: number;
  end(facts: EndFacts): AgentReading;
}

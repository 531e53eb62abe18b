/** The limit on an agent's text in a transcript line. The native stream keeps the full text. */
export const TEXT_BYTES_MAX = 64 * 1024;

/** A text, possibly truncated. */
export interface ClippedText {
  readonly text: string;
  /** The original length, if truncated. */
  readonly bytes_total?: number;
}

/** An event in an agent's stream, in a form common to all agents. */
export type AgentEvent =
  | { readonly kind: 'message'; readonly role: 'assistant' | 'user'; readonly body: ClippedText }
  | { readonly kind: 'thinking'; readonly body: ClippedText }
  | {
      readonly kind: 'tool_call';
      readonly call: string;
      readonly tool: string;
      readonly input: ClippedText;
      /** The command it runs, if any. */
      readonly command?: ClippedText;
      /** The file it concerns, as named by the agent. */
      readonly path?: string;
    }
  | {
      readonly kind: 'tool_result';
      readonly call: string;
      readonly ok: boolean;
      readonly output: ClippedText;
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
  | { readonly kind: 'final'; readonly ok: boolean; readonly body: ClippedText | null }
  | { readonly kind: 'note'; readonly level: 'info' | 'warning' | 'error'; readonly text: string };

/** The usage that an agent reports. Null if not reported. */
export interface AgentUsage {
  readonly turns: number | null;
  readonly input_tokens: number | null;
  readonly cached_input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly cost_usd: number | null;
}

/** A line of the normalized transcript. */
export type TranscriptLine = {
  readonly schema_version: 'transcript-line.v1';
  /** Counts from 1 without gaps. */
  readonly seq: number;
  /** Milliseconds from the agent's start to the arrival of the native line. */
  readonly at_ms: number;
  /** The number of its line in the native stream, starting at 1. */
  readonly native_line: number;
} & AgentEvent;

/** Why a step ended. */
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

/** Reasons that are not the agent's fault: the model was unavailable, or the machine or the caller ended the run. */
export const NOT_OF_THE_AGENT: ReadonlySet<Reason> = new Set<Reason>([
  'auth_missing',
  'api_error',
  'spawn_failed',
  'unsupported_version',
  'cancelled',
  'interrupted',
  'runner_failed',
]);

/** The meaning of one line of the native stream. */
export interface LineReading {
  readonly events: readonly AgentEvent[];
  /**
   * `progress`: the agent made progress. `alive`: it is alive but made no progress. `terminal`: this was its last line.
   * `kill`: it must be stopped.
   */
  readonly sign?: 'progress' | 'alive' | 'terminal' | 'kill';
  /** Only with `kill`. */
  readonly reason?: Reason;
}

export interface Denial {
  readonly tool: string;
  readonly call: string | null;
  readonly reason: string;
  /** The file it concerns, as named by the agent. */
  readonly path: string | null;
  /** The call needed the network. */
  readonly isNetwork: boolean;
  /** The call asks the user a question, but the run is unattended. */
  readonly isQuestion?: true;
  /** Not reported by the agent, but inferred from the output or path of a failed tool. */
  readonly fromOutput?: true;
  readonly native_line: number;
}

/** The result of reading the whole stream. */
export interface AgentReading {
  /** The final line, if any: whether it reports success, and the agent's own code for the reason. */
  readonly terminal: { readonly ok: boolean; readonly word: string } | null;
  readonly finalText: string | null;
  /** The failure that the agent reports. */
  readonly failure: { readonly reason: Reason; readonly status: number | null; readonly detail: string } | null;
  readonly denials: readonly Denial[];
  /** The total number of denials; only the first ones are listed. */
  readonly denialCount: number;
  readonly usage: AgentUsage;
  readonly session: string | null;
  readonly model: string | null;
  readonly lines: {
    readonly total: number;
    /** Of unknown type. Kept but ignored. */
    readonly unknown: number;
    /** Not JSON, or not UTF-8. */
    readonly broken: number;
    /** Longer than the line limit. Stored like the rest of the stream, but ignored. */
    readonly oversized: number;
  };
}

/** Facts that are known only after the program ended, apart from its stream. */
export interface EndFacts {
  /** The content of the file to which some agents write their last message. */
  readonly lastMessage: string | null;
}

/** A piece of a model answer. */
export interface ModelOutput {
  /** Whether this piece starts an answer. */
  readonly isFirst: boolean;
  /** The number of answers that completed before this one started. */
  readonly answersBefore: number;
}

/** A pure fold over the native stream of one run. */
export interface AgentReader {
  /** A line without its line feed; null for a line above the limit. */
  line(bytes: Uint8Array | null): LineReading;
  /** Model output seen by the model proxy. It yields no events and does not affect the final reading. */
  heard(speech: ModelOutput): LineReading;
  /** The number of pending tool calls. */
  readonly inFlight: number;
  end(facts: EndFacts): AgentReading;
}

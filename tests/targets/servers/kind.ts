import type { IncomingMessage } from 'node:http';

/** A kind of target, and what its agents can report. */
export interface Kind {
  readonly name: string;
  /** The target file for an agent at this address or with this program. Its secrets come from AGENT_TOKEN. */
  readonly declaration: (place: string) => Record<string, unknown>;
  readonly can: {
    /** Models propose calls; agents report what their tools returned, and most protocols also whether they failed. */
    readonly tools: 'results' | 'results without status' | 'proposals' | 'nothing';
    readonly usage: boolean;
    readonly model: boolean;
    readonly failure: boolean;
    readonly stream: boolean;
  };
}

/** A kind with a transport of its own. The faults of HTTP responses make no sense for it. */
export interface OwnTransport extends Kind {
  readonly stage: (scenes: Readonly<Record<string, Told>>) => Stage;
  /** The error class of an agent that crashes. */
  readonly crashClass: string;
}

/** An agent that plays the scenes. The first word of a question names the scene. */
export interface Stage {
  /** Returns the argument for `declaration`. The folder is that of the target file. */
  start(folder: string): Promise<string>;
  /** Undefined for programs, which refuse to work without their token. */
  readonly asked?: readonly { readonly headers: IncomingMessage['headers'] }[];
  /** Requests that break the protocol. */
  readonly refused: readonly string[];
}

/** An answer of an agent, in no particular protocol. */
export interface Told {
  readonly text: string;
  readonly calls?: readonly ToldCall[];
  /** The agent reports this failure instead of an answer. */
  readonly failure?: string;
  /** The agent crashes with this message instead of an answer. */
  readonly crash?: string;
}

export interface ToldCall {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** What the tool returned. Models only propose calls, so their protocols omit this. */
  readonly result: string;
  readonly hasFailed?: boolean;
}

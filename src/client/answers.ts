export interface ClientOptions {
  /** A token from `proctor token new`. */
  readonly token: string;
  /** How long a request may take without an answer, in milliseconds; 60,000 by default. */
  readonly timeoutMs?: number;
}

/** A file in an order. */
interface OrderedFile {
  readonly name: string;
  readonly text: string;
}

/** A suite to run on the server. Keys have the names of the flags of `proctor run suite`. */
export interface SuiteToStart {
  readonly run_id?: string;
  readonly as: 'baseline' | 'new';
  readonly suite?: string;
  readonly cases: OrderedFile;
  /** Exactly one of `base_url`, `target` and `script`. */
  readonly base_url?: string;
  readonly target?: OrderedFile;
  readonly script?: OrderedFile;
  readonly only?: readonly string[];
  readonly concurrency?: number;
  readonly timeout_ms?: number;
  readonly retries?: number;
  readonly limits?: Readonly<Record<string, number>>;
  readonly provenance?: Readonly<Record<string, string>>;
  readonly strict_replies?: boolean;
  /** Headers whose values are variables of the server. */
  readonly headers?: readonly { readonly name: string; readonly env: string }[];
}

/** The state of an order. */
export interface OrderState {
  readonly run_id: string;
  readonly state: 'waiting' | 'running' | 'ended';
  /** From 1; null if the order does not wait. */
  readonly position: number | null;
  /** How it ended: finished, cancelled, failed or recovered. */
  readonly how: string | null;
  readonly message: string | null;
}

/** A run, as the server lists it. */
export interface RunAnswer {
  readonly run_id: string;
  readonly kind: string;
  readonly state: 'waiting' | 'running' | 'finished' | 'interrupted' | 'foreign' | 'unreadable';
  readonly status: string;
  readonly subject: string | null;
  readonly started_at: string | null;
  readonly duration_ms: number | null;
  readonly progress: { readonly done: number; readonly total: number } | null;
  readonly position: number | null;
  readonly verdicts: { readonly passed: number; readonly failed: number; readonly total: number } | null;
}

export interface RunListAnswer {
  readonly runs: readonly RunAnswer[];
  readonly total: number | null;
  readonly next: string | null;
}

/** An event of a run. `data` is parsed JSON. */
export interface ServerEvent {
  readonly event: string;
  /** Where to continue after this event; null if the server named no place. */
  readonly id: string | null;
  readonly data: unknown;
}

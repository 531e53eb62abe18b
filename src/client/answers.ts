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
  /** Whether workers of the server's queue make the attempts. */
  readonly queue?: boolean;
  /** With `queue`: the share of the attempts that a second worker makes again, above 0 and at most 1. */
  readonly twice?: number;
  /** Headers whose values are variables of the server. */
  readonly headers?: readonly { readonly name: string; readonly env: string }[];
}

/** An intent to run on the server. Keys have the names of the flags of `proctor run intent`. */
export interface IntentToStart {
  readonly intent: OrderedFile;
  readonly answers?: OrderedFile;
  /** `plan-only` by default. */
  readonly mode?: IntentRunMode;
  /** The name of a built-in profile, or a profile; `default` by default. */
  readonly profile?: 'strict' | 'default' | 'dev' | Readonly<Record<string, unknown>>;
}

type IntentRunMode = 'plan-only' | 'execute-sandbox';

/** Answers to the questions of an intent run. */
export interface AnswersToSend {
  /** By the ids of the questions. */
  readonly answers: Readonly<Record<string, unknown>>;
  /** The mode of the run by default. */
  readonly mode?: IntentRunMode;
}

/** The open questions of an intent run. */
export interface QuestionsAnswer {
  readonly mode: IntentRunMode;
  readonly questions: readonly {
    readonly id: string;
    readonly key: string;
    readonly text: string;
    readonly expects: {
      readonly kind: 'text' | 'command' | 'plan' | 'choice';
      readonly choices?: readonly (string | number | boolean)[];
    };
  }[];
}

/** The queue of a team. */
export interface QueueAnswer {
  /** What waits longest first. */
  readonly needs: readonly {
    readonly needs: string;
    readonly waiting: number;
    readonly active: number;
    /** How many workers offer it. */
    readonly workers: number;
    /** Null if nothing waits. */
    readonly oldest_waiting_ms: number | null;
  }[];
  /** Workers that asked for work or beat during the last minute. */
  readonly workers: readonly {
    readonly worker: string;
    readonly slots: number;
    readonly active: number;
    readonly version: string;
    readonly last_seen_ms: number;
  }[];
  readonly lost_last_hour: number;
  /** Over all rows, also those that the lists leave out. */
  readonly totals: {
    readonly waiting: number;
    readonly active: number;
    readonly oldest_waiting_ms: number | null;
    readonly needs: number;
    readonly workers: number;
    readonly slots: number;
    readonly busy_slots: number;
  };
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

/** A part of the list of cases of a run. */
export interface CaseListAnswer {
  readonly total: number;
  readonly cases: number;
  readonly from: number;
  readonly position: number | null;
  readonly rows: readonly {
    readonly case_id: string;
    readonly title: string | null;
    readonly kind: string;
    readonly error_class: string | null;
    readonly new_ms: number | null;
    readonly new_usd: number | null;
    readonly why: string | null;
  }[];
}

/** An event of a run. `data` is parsed JSON. */
export interface ServerEvent {
  readonly event: string;
  /** Where to continue after this event; null if the server named no place. */
  readonly id: string | null;
  readonly data: unknown;
}

/** A file of a folder to publish. */
export interface FileToPublish {
  /** Relative to the folder, with `/` as the separator. */
  readonly path: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly isProgram: boolean;
}

/** A version that was published. */
export interface PublishedAnswer {
  readonly name: string;
  readonly version: string;
  /** Covers the path, the mode and the hash of every file. */
  readonly digest: string;
  readonly state: 'draft' | 'published';
  /** False if the server had this version already. */
  readonly is_new: boolean;
  readonly files: number;
  readonly bytes: number;
}

/** A script with its versions, newest first. */
export interface ScriptVersionsAnswer {
  readonly name: string;
  readonly title: string | null;
  readonly current: string | null;
  readonly previous: string | null;
  readonly versions: readonly {
    readonly version: string;
    readonly digest: string;
    readonly state: 'draft' | 'published' | 'withdrawn';
    readonly is_current: boolean;
    readonly author: string;
    readonly at: string;
  }[];
}

export interface ScriptsAnswer {
  /** The scripts that this identity may run. */
  readonly scripts: readonly {
    readonly name: string;
    readonly version: string;
    readonly title: string;
    readonly description: string;
    readonly inputs: readonly unknown[];
  }[];
  /** Every version of every script; null if the role of the identity is lower than runner. */
  readonly all: readonly ScriptVersionsAnswer[] | null;
}

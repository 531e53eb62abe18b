/**
 * The port between a conductor, which offers attempts, and workers, which make them. The queue delivers a request at least
 * once and lets an attempt begin at most once; the conductor decides on retries.
 *
 * Every method may reject with a `queue_unavailable` fault while the database is unavailable. Every call may be repeated.
 */
export interface Queue {
  /** Offers attempts. Offering a key again has no effect, unless a worker handed it back: then it waits again. */
  offer(requests: readonly AttemptRequest[]): Promise<void>;
  /**
   * Takes at most `free` attempts, which have begun when this returns. Without any, waits for `waitMs`, or until the
   * signal aborts, and returns an empty list.
   */
  claim(worker: WorkerOffer, free: number, wait: QueueWait): Promise<readonly AttemptClaim[]>;
  /** Reports that the worker is still busy with these claims. Returns those it has lost: it must stop them. */
  beat(claims: readonly AttemptClaim[]): Promise<readonly AttemptClaim[]>;
  /** Drops claims that the worker stopped on its own, without a word to others: the queue gives them up by itself. */
  forget(claims: readonly AttemptClaim[]): void;
  /**
   * Ends claims. Returns the keys whose settlement the queue holds, also on a repeated call. A missing key is refused:
   * the claim was lost or withdrawn before.
   */
  settle(settlements: readonly Settlement[]): Promise<readonly string[]>;
  /** The known outcomes of these keys. Without any, waits for `waitMs`, or until the signal aborts. */
  outcomes(keys: readonly string[], wait: QueueWait): Promise<ReadonlyMap<string, AttemptOutcome>>;
  /** When those of these keys began that have begun, and were not handed back since. By the clock of the queue. */
  begun(keys: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Removes the waiting attempts of a run, and takes the active ones from their workers. */
  withdraw(runId: string): Promise<void>;
  /** Calls `listener` when a run may have been withdrawn. Only a hint: `beat` decides. Returns a function that stops it. */
  onWithdrawn(listener: (runId: string) => void): () => void;
  /** Gives up attempts whose worker has stopped beating. A conductor calls this about once a second. */
  supervise(): Promise<void>;
  /** Marks a run as sealed. The queue forgets its attempts 7 days later, unless the run is offered again. */
  markSealed(runId: string): Promise<void>;
  overview(): Promise<QueueOverview>;
  close(): Promise<void>;
}

/** One attempt that any suitable worker can make. It contains the names of secrets, never their values. */
export interface AttemptRequest {
  /**
   * `<run id>/<case id>/<attempt>`: the idempotency key. The same key is the same attempt. `/<number>` follows if another
   * worker makes the attempt again.
   */
  readonly key: string;
  readonly runId: string;
  /** The version of `ask`. A worker claims only versions that it knows. */
  readonly protocol: number;
  /** What a worker must offer, such as `http`, `script/process/strict` or `agent/claude/sha256:…`. */
  readonly needs: string;
  /**
   * The id of a key: no worker that signs with it gets the attempt, because it made the same attempt before.
   * Cannot be combined with `slots`.
   */
  readonly notBy?: string;
  /**
   * The script that the attempt runs. Only workers that allow it get the attempt; all do if it is absent.
   * Cannot be combined with `notBy`.
   */
  readonly script?: NeededScript;
  /** Limits how many attempts at one target are active at once, over all runs and workers with the same `needs`. */
  readonly slots?: TargetSlots;
  /** From -10 to 10. Higher is earlier. */
  readonly priority: number;
  /** The queue gives up the attempt after this long, even if its worker still beats. */
  readonly timeoutMs: number;
  /** The document that the worker reads. Text, so that its digest survives the queue. */
  readonly ask: string;
  /** A W3C `traceparent`. */
  readonly trace?: string;
}

export interface NeededScript {
  readonly sha256: string;
  readonly network: 'blocked' | 'open';
}

export interface TargetSlots {
  readonly target: string;
  readonly max: SlotsMax;
}

/** PostgreSQL counts slots by tier, so the limits are powers of two. */
export const SLOTS_MAX = [1, 2, 4, 8, 16, 32, 64] as const;
type SlotsMax = (typeof SLOTS_MAX)[number];

export interface WorkerOffer {
  /** Identifies the worker process, and appears in evidence. */
  readonly worker: string;
  readonly protocols: readonly number[];
  readonly needs: readonly string[];
  readonly slots: number;
  /** The version of Proctor. */
  readonly version: string;
  /** The id of the key that signs its outcomes. A worker that hides it gets caught: the conductor checks who signed. */
  readonly keyId?: string;
  /** The scripts that it runs. Without this, the queue does not look at scripts. */
  readonly scripts?: OfferedScripts;
}

export interface OfferedScripts {
  /** These may have secrets, and an open network if `network` is open. */
  readonly digests: readonly string[];
  /** Also every other script, without secrets and without a network. */
  readonly isAny: boolean;
  readonly network: 'blocked' | 'open';
}

/** The most digests in an offer. */
export const OFFERED_SCRIPTS_MAX = 100;

export interface AttemptClaim {
  readonly request: AttemptRequest;
  readonly worker: string;
  /** Identifies this claim. A repeated settlement of an earlier claim cannot end a later one. */
  readonly id: string;
  /** By the clock of the queue. */
  readonly begunAtMs: number;
  /**
   * The queue may give the attempt up after this long without a beat. A worker counts from when it sent its last successful
   * `claim` or `beat`.
   */
  readonly beatWithinMs: number;
}

export interface Settlement {
  readonly claim: AttemptClaim;
  readonly end: Reported | HandedBack;
}

/** The attempt was made, or stopped after it had reached its target. */
interface Reported {
  readonly is: 'reported';
  /** The `attempt-outcome.v1` document, as text. */
  readonly report: string;
}

/** Nothing reached the target, because this worker cannot make the attempt or is shutting down. */
interface HandedBack {
  readonly is: 'handed_back';
  readonly why: string;
}

/** How an attempt ended. Times are by the clock of the queue. */
export type AttemptOutcome = AttemptEnd & {
  readonly worker: string;
  readonly begunAtMs: number;
  readonly endedAtMs: number;
};

/** `lost`: the worker stopped beating, or exceeded `timeoutMs`. `withdrawn`: the run was withdrawn during the attempt. */
export type AttemptEnd = Reported | HandedBack | { readonly is: 'lost' } | { readonly is: 'withdrawn' };

export interface QueueWait {
  readonly waitMs: number;
  readonly signal?: AbortSignal;
}

export interface QueueOverview {
  /** One row per `needs` and script that waits, is active, or is offered by a worker. */
  readonly needs: readonly NeedsRow[];
  /** Workers that asked for work or beat during the last minute. */
  readonly workers: readonly WorkerRow[];
  readonly lostLastHour: number;
}

interface NeedsRow {
  /** With the digest of the script, such as `script/process/strict/sha256:…`. */
  readonly needs: string;
  readonly waiting: number;
  readonly active: number;
  /** Null if nothing waits. */
  readonly oldestWaitingMs: number | null;
  /** How many workers offer it, allow the script, and read every version of the requests that wait. */
  readonly workers: number;
}

interface WorkerRow {
  readonly worker: string;
  readonly slots: number;
  readonly active: number;
  readonly version: string;
  readonly lastSeenMs: number;
}

/** The largest `ask` and `report`, in bytes of UTF-8. Larger values go to the store, by digest. */
export const QUEUE_TEXT_BYTES_MAX = 65_536;

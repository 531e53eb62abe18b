import type { KeptReply } from '../../targets/reader.ts';
import type { RepairCounts } from '../../targets/repairs.ts';
import type { AgentReply } from '../../targets/reply.ts';
import { Fault } from '../../base/fault.ts';
import type { ContentHash } from '../../base/hash.ts';
import type { MaskedKinds } from '../../base/masker.ts';
import type { AgentRunNote, CaseArtifact } from '../../contracts/artifacts/index.ts';
import type { Phase } from '../../contracts/capture.ts';
import type { KeptTwice } from '../../evidence/suite/made-twice.ts';
import type { Asset } from '../../evidence/suite/suite-store.ts';
import type { SuiteCase } from '../../contracts/suite/index.ts';

/** What a suite asks: an HTTP API, a script or an agent. */
export interface Target {
  /** Makes one attempt. A target failure is a result, not an exception. */
  ask(question: CaseQuestion): Promise<AttemptResult>;
  /** Cancels all attempts in progress. */
  cancel(): void;
  /** Files to store with the run, once every case has its answer. */
  evidence?(): Promise<readonly Asset[]>;
  /** Resolves when nothing is under way any more: a cancelled queue has then withdrawn the run. */
  close(): Promise<void>;
  /** A queue lets each attempt begin at most once, so a resumed run sends a pending one again under the same key. */
  readonly isQueued?: true;
}

export interface CaseQuestion {
  readonly one: SuiteCase;
  /** The idempotency key, by which the target can recognize a repeated request. */
  readonly key: string;
  /** From 1. */
  readonly attempt: number;
  readonly signal: AbortSignal;
  /** A W3C `traceparent`, if the attempt is traced. */
  readonly trace?: string | undefined;
  /** Called with the id of the run that answers, for a script or an agent. */
  readonly onRun?: (runId: string) => void;
  /**
   * Called when the answer has arrived and no other attempt will follow, so that the next case can be sent. Resolves when
   * it is time to read the answer.
   */
  readonly onArrived?: () => Promise<void>;
  /** Whether no other attempt follows if this one fails so. */
  readonly isLast?: (failed: FailedAttempt) => boolean;
}

export interface AttemptResult {
  readonly latencyMs: number;
  readonly httpStatus?: number | undefined;
  /** The run id, for a script or an agent. */
  readonly runId?: string;
  /** A summary of the run, for an agent. */
  readonly agentRun?: AgentRunNote;
  /** When the program of an agent ran. Its events count from the start. */
  readonly ran?: Pick<Phase, 'startedAtMs' | 'durationMs'> | undefined;
  /** For an attempt that a worker made: its name, when it started, and the outcome that it signed, as a line. */
  readonly worker?: string;
  readonly startedAtMs?: number;
  readonly signedOutcome?: string;
  /** The key that signed it, with its public half in PEM. */
  readonly signer?: { readonly keyId: string; readonly publicPem: string };
  /** What a second worker answered, if the attempt was chosen to be made twice. */
  readonly twice?: KeptTwice;
  /** The run that answers, ready to be sent. Only on a worker. */
  readonly packed?: PackedAttempt;
  readonly outcome: Answered | FailedAttempt;
}

/** The run of an attempt as one pack. The worker removes both once the queue has the outcome. */
export interface PackedAttempt {
  readonly id: string;
  readonly sealSha256: ContentHash;
  readonly pack: { readonly sha256: ContentHash; readonly bytes: number };
  /** Reads the pack. Every call starts at its beginning. */
  readonly read: () => AsyncIterable<Uint8Array>;
  readonly remove: () => void;
}

/** Nothing reached the target, because this machine cannot make the attempt. A worker then hands it back. */
export class NotBegun extends Fault {}

export interface Answered {
  readonly ok: true;
  readonly reply: AgentReply;
  /** Masked ranges by kind. */
  readonly masked: MaskedKinds;
  /** The size of the whole answer, and so an upper limit for each of its parts. */
  readonly bytes: number;
  readonly repairs: RepairCounts;
  /** Time to the first output, for a streamed reply. */
  readonly ttftMs?: number;
  /** The masked reply to store. Absent if the run of a script or an agent has it. */
  readonly kept?: KeptReply;
}

export interface FailedAttempt {
  readonly ok: false;
  readonly class: NonNullable<CaseArtifact['runner_failure']>['class'];
  readonly message: string;
  readonly errorName?: string;
  readonly statusText?: string;
  readonly mayRetry: boolean;
  /** From the Retry-After header. */
  readonly retryAfterMs?: number;
  readonly body?: Body;
  /** Masked ranges in the body, by kind. */
  readonly masked?: MaskedKinds;
  /** The attempt ended because the run was cancelled. */
  readonly cancelled?: true;
  /**
   * The end of the attempt is unknown, and so is its latency: its worker was lost, or an earlier session of the run was
   * interrupted. An interrupted attempt does not count as a try.
   */
  readonly unseen?: 'lost' | 'interrupted';
}

export const CANCELLED: FailedAttempt = {
  ok: false,
  class: 'other',
  message: 'The run was cancelled.',
  mayRetry: false,
  cancelled: true,
};

/** The received bytes, masked. */
export interface Body {
  readonly bytes: Buffer;
  readonly bytesTotal: number | null;
  readonly truncated: boolean;
  /** What a program printed, not its reply. */
  readonly isLog?: true;
  readonly contentType: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

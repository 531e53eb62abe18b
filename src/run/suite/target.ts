import type { Reply } from '../../adapters/http-agent.ts';
import type { MaskedKinds } from '../../base/masker.ts';
import type { AgentRunNote, CaseArtifact } from '../../contracts/artifacts/index.ts';
import type { SuiteCase } from '../../contracts/suite/index.ts';

/** Who is asked: an agent behind an address, or a script or an agent's program in a sandbox. */
export interface Target {
  /** Makes one attempt. What the other side does is an answer, never an error. */
  ask(question: Question): Promise<Told>;
  /** Ends every attempt that is under way. */
  cancel(): void;
  close(): Promise<void>;
}

export interface Question {
  readonly one: SuiteCase;
  /** By which the other side can tell a second sending. */
  readonly key: string;
  /** From 1. */
  readonly attempt: number;
  readonly signal: AbortSignal;
}

/** What came of one attempt. */
export interface Told {
  readonly latencyMs: number;
  readonly httpStatus?: number;
  /** The run of its own that a program had. */
  readonly runId?: string;
  /** What was seen of that run, where an agent's program had it. */
  readonly agentRun?: AgentRunNote;
  readonly outcome: Answered | Failed;
}

export interface Answered {
  readonly ok: true;
  readonly reply: Reply;
  /** How many ranges were masked in it, by kind. */
  readonly masked: MaskedKinds;
  /** How large the answer was as a whole: no part of it is larger. */
  readonly bytes: number;
}

export interface Failed {
  readonly ok: false;
  readonly class: NonNullable<CaseArtifact['runner_failure']>['class'];
  /** A sentence for people. */
  readonly message: string;
  readonly errorName?: string;
  readonly statusText?: string;
  /** Another attempt may go better. */
  readonly mayRetry: boolean;
  /** How long the other side asks to be left alone. */
  readonly retryAfterMs?: number;
  readonly body?: Body;
  /** How many ranges were masked in its body, by kind. */
  readonly masked?: MaskedKinds;
  /** It was stopped because the whole run was. */
  readonly cancelled?: true;
}

/** An attempt that was stopped because the whole run was. */
export const CANCELLED: Failed = {
  ok: false,
  class: 'other',
  message: 'The run was cancelled.',
  mayRetry: false,
  cancelled: true,
};

/** What was received, with its secrets masked. */
export interface Body {
  readonly bytes: Buffer;
  readonly bytesTotal: number | null;
  readonly truncated: boolean;
  readonly contentType: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

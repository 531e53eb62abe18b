import type { AgentOutcome } from './agent-step/index.ts';

/**
 * Several attempts at one task, ranked. A report over sealed runs, not evidence: each attempt is a run with its own
 * evidence, and `proctor apply` ranks them again.
 */
export interface AttemptsReport {
  readonly kind: 'attempts';
  readonly group: string;
  /** How many attempts were planned. */
  readonly of: number;
  readonly is_evidence: false;
  readonly winner: { readonly attempt: number; readonly run_id: string } | null;
  /** Why this attempt wins, or why none does. */
  readonly why: string;
  /** `nothing` if the attempts have no checks. */
  readonly judged_by: 'checks' | 'nothing';
  /** Attempts that differ only in their number. */
  readonly ties: readonly (readonly number[])[];
  /** The best first. */
  readonly attempts: readonly RankedAttempt[];
  readonly not_ranked: readonly UnrankedAttempt[];
  readonly notes: readonly string[];
  /** 0 if there is a winner. */
  readonly exit_code: 0 | 1;
}

/** What counts about one attempt. Unknown values are null. */
export interface AttemptRow extends Pick<AgentOutcome, 'termination' | 'reason'> {
  readonly attempt: number;
  readonly run_id: string;
  readonly violations: { readonly hard: number; readonly soft: number };
  readonly checks: { readonly passed: number; readonly total: number };
  /** Over all checks with a test report; null if there is none. */
  readonly tests: { readonly passed: number; readonly failed: number } | null;
  /** Null if the changes are unknown, or too large to keep. */
  readonly diff: { readonly files: number; readonly added: number; readonly removed: number } | null;
  readonly cost_usd: number | null;
  readonly duration_ms: number | null;
  readonly flags: readonly string[];
}

export interface RankedAttempt extends AttemptRow {
  readonly rank: number;
}

/** An attempt without a run that can be ranked. */
export interface UnrankedAttempt {
  readonly attempt: number;
  readonly run_id: string | null;
  readonly code: string;
  readonly message: string;
}

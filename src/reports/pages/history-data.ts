import type { PassRate } from '../../contracts/gate/decide/pass-rate.ts';

/** The runs of a project over time. Printed by `proctor history --json` and embedded in its page. */
export interface History {
  readonly generated_at: string;
  /** At most 50 suites; the one with the newest run first. */
  readonly suites: readonly SuiteHistory[];
  readonly suites_total: number;
  /** The suite and the case that the user asked for; null if none. */
  readonly suite: string | null;
  readonly case_id: string | null;
  /** Sealed runs that cannot be used, with the reason; at most 20. */
  readonly unreadable: readonly { readonly run_id: string; readonly why: string }[];
  readonly unreadable_total: number;
  /** Runs without a seal: running or interrupted. */
  readonly unfinished: number;
  /** How many run folders were not looked at, because there are too many. */
  readonly not_read: number;
}

export interface SuiteHistory {
  readonly name: string;
  /** The side whose runs decide the states of cases. */
  readonly side: Side;
  /** Oldest first. */
  readonly runs: readonly HistoryRun[];
  /** How many older runs of the suite are not in `runs`. */
  readonly older_runs: number;
  /** Cases that need attention first. */
  readonly cases: readonly HistoryCase[];
  /** How many cases each state has, including those that are not in `cases`. */
  readonly states: Readonly<Record<CaseState, number>>;
  /** The share of neighbouring trials with different verdicts; null if nothing can be compared. */
  readonly flakiness: number | null;
}

type Side = 'baseline' | 'new';

/** One run with its repetitions and later rounds. */
export interface HistoryRun {
  readonly run_id: string;
  readonly side: Side;
  readonly started_at: string;
  readonly commit: string | null;
  /** Whether the checkout had uncommitted changes; null if unknown. */
  readonly dirty: boolean | null;
  readonly model: string | null;
  readonly agent_version: string | null;
  readonly target: string;
  /** Planned trials of each case that are here. */
  readonly trials: number;
  /** The run sent only some of the cases. */
  readonly partial: boolean;
  /** Null if no trial was judged. Excludes later rounds, which repeat selected cases. */
  readonly pass_rate: PassRate | null;
  /** How many cases passed, failed, did both, or have no verdict; null if the run was not judged. */
  readonly cases: CaseCounts | null;
  readonly latency_ms: { readonly p50: number; readonly p95: number } | null;
  /** The sum of the known costs; null if no trial states one. */
  readonly cost_usd: number | null;
  /** How many answers state no cost. */
  readonly unpriced: number;
  readonly flakiness: number | null;
  /** The page of the run or of its comparison, relative to the folder of the reader; null if there is none. */
  readonly report: string | null;
}

export interface CaseCounts {
  readonly passed: number;
  readonly failed: number;
  readonly mixed: number;
  readonly unknown: number;
}

/**
 * `fails`: it fails in its newest run. `flaky`: it passes and fails without a change of version. `fixed`: it passes, and
 * failed before. `gone`: the newest complete run does not have it. `unknown`: no run has a verdict.
 */
export type CaseState = 'fails' | 'flaky' | 'fixed' | 'gone' | 'unknown' | 'passes';

export interface HistoryCase {
  readonly case_id: string;
  readonly state: CaseState;
  /** The run in which it started to fail, or to pass again; null for other states. */
  readonly since: Since | null;
  readonly flakiness: number | null;
  /** One letter per trial and run: p passed, f failed, u not judged, n no answer. Empty if the run has no such case. */
  readonly trials: readonly string[];
  /** The mean of each run; null if unknown. */
  readonly latency_ms: readonly (number | null)[];
  /** The sum of each run; null if unknown. */
  readonly cost_usd: readonly (number | null)[];
  /** The runs whose case differs from the one before. */
  readonly changed: readonly number[];
  /** Why the newest failing trial failed. */
  readonly message: string | null;
  /** What the comparison of the first failing run says; null if there is none. */
  readonly cause: string | null;
}

export interface Since {
  /** The index in `runs`. */
  readonly run: number;
  readonly run_id: string;
  readonly commit: string | null;
  /** Whether the checkout had uncommitted changes, so that the commit alone does not explain it; null if unknown. */
  readonly dirty: boolean | null;
  readonly started_at: string;
  /** It may have begun before: older runs exist that are not in `runs`. */
  readonly or_before: boolean;
}

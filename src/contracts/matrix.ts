import type { ComparedSide, Comparison, Decision } from './comparison/index.ts';

/**
 * Several versions over the same cases. A report over sealed runs, not evidence: nothing seals or verifies it, so it has
 * no contract. A comparison of two of its versions is evidence.
 */
export interface Matrix extends Pick<Comparison, 'verdict' | 'reason' | 'exit_code'> {
  readonly kind: 'matrix';
  readonly matrix_id: string;
  readonly generated_at: string;
  readonly is_evidence: false;
  /** The pairs that determine the verdict: those with the first version, or every version with each one before it. */
  readonly decided_by: MatrixDecider;
  readonly gate: Omit<Comparison['gate'], 'breaches' | 'checks'>;
  /** Null in strict mode, which uses no statistics. */
  readonly false_alarms: FalseAlarms | null;
  readonly versions: readonly MatrixVersion[];
  /** Every ordered pair. */
  readonly pairs: readonly MatrixPair[];
  /** Conditions that differ between versions. The values are in the order of the versions; null if unknown. */
  readonly conditions: readonly { readonly field: string; readonly values: readonly (string | null)[] }[];
  readonly cases_total: number;
  readonly cases_differing: number;
  /** Cases that differ between versions come first. At most `MATRIX_CASES_MAX`. */
  readonly cases: readonly MatrixCase[];
}

export type MatrixDecider = 'reference' | 'all_pairs';

/** How often a verdict is a false alarm if nothing changed. The pairs share runs, so only an upper limit is known. */
export interface FalseAlarms {
  /** Pairs that determine the verdict. */
  readonly pairs: number;
  readonly each_at_most: number;
  readonly any_at_most: number;
}

export interface MatrixVersion {
  readonly name: string;
  readonly source: ComparedSide['source'];
  readonly run_ids: readonly string[];
  readonly seals: readonly string[];
  /** What the version is: its agent, model, commit, target. */
  readonly facts: readonly VersionFact[];
  /** Planned runs of the suite, without reruns of single cases. */
  readonly trials: number;
  /** The mean over the cases with trials that count; null without any. */
  readonly pass_rate: { readonly rate: number; readonly low: number; readonly high: number } | null;
  /** How many cases each state has. */
  readonly states: Readonly<Record<MatrixCell['state'], number>>;
  /** Planned trials that passed. */
  readonly solved: number;
  /** All time, cost and tokens of judged trials, failed ones included, per passed trial; null if any is unknown. */
  readonly per_solved: Readonly<Record<'cost_usd' | 'latency_ms' | 'tokens', number | null>>;
}

export interface VersionFact {
  readonly name: string;
  readonly value: string;
}

/** The gate's answer to: is the candidate worse than the baseline? Both are positions in `versions`. */
export interface MatrixPair extends Pick<Comparison, 'verdict' | 'reason'>, Pick<Decision, 'cause' | 'drop' | 'high'> {
  readonly baseline: number;
  readonly candidate: number;
  readonly is_deciding: boolean;
  /** The verdict is "regression" only because the candidate does not meet a limit. */
  readonly is_only_limit: boolean;
  readonly comparability: Comparison['comparability']['state'];
  /** Cases with trials on both sides. */
  readonly cases: number;
  readonly broken: number;
  readonly suspects: number;
}

export interface MatrixCase {
  readonly case_id: string;
  readonly title: string | null;
  /** Not all versions have the same state. */
  readonly differs: boolean;
  /** Not all versions got the same question with the same expectations. */
  readonly changed: boolean;
  /** One per version. */
  readonly cells: readonly MatrixCell[];
}

/** The planned trials of a case in one version. `missing`: none counts. `absent`: the version did not run the case. */
export interface MatrixCell {
  readonly state: 'pass' | 'fail' | 'flaky' | 'missing' | 'unjudged' | 'absent';
  readonly passes: number;
  readonly trials: number;
}

export const MATRIX_VERSIONS_MAX = 8;
export const MATRIX_CASES_MAX = 10_000;

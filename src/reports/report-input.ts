import type { CaseArtifact, RunArtifact } from '../contracts/artifacts/index.ts';
import type { SuiteCase } from '../contracts/suite/index.ts';

export type Side = 'baseline' | 'new';
export type Verdict = 'pass' | 'fail' | 'error';
export type Change = 'regressed' | 'improved' | 'same' | 'flaky' | 'missing';

/** What one run said of a case. */
export interface Trial {
  readonly run_id: string;
  readonly verdict: Verdict;
  readonly error_class: string | null;
  readonly output_hash: string | null;
  readonly latency_ms: number | null;
  readonly cost_usd: number | null;
  readonly score: number | null;
}

interface Failing {
  readonly name: string;
  readonly message: string | null;
  readonly at: string | null;
}

export interface Divergence {
  readonly kind:
    | 'environment'
    | 'policy'
    | 'input'
    | 'tool_choice'
    | 'tool_arguments'
    | 'tool_result'
    | 'retrieval'
    | 'output'
    | 'runner';
  readonly baseline_at: string | null;
  readonly new_at: string | null;
  readonly says: string;
  readonly confidence: 'high' | 'medium' | 'low';
  readonly cites: readonly string[];
}

export interface ComparedCase {
  readonly case_id: string;
  readonly title: string | null;
  readonly change: Change;
  readonly side_missing?: Side | 'both' | undefined;
  readonly baseline: { readonly trials: readonly Trial[] };
  readonly new: { readonly trials: readonly Trial[] };
  readonly failing: readonly Failing[];
  readonly divergence: Divergence | null;
}

export interface ComparedSide {
  readonly source: 'runs' | 'accepted';
  readonly run_ids: readonly string[];
  readonly seals: readonly string[];
  readonly trials: number;
  readonly environment_hash: string | null;
  readonly target_sha256: string | null;
  readonly cases_sha256: string | null;
}

interface Spread {
  readonly mean: number;
  readonly p50: number;
  readonly p95: number;
}

export interface ComparedMetric {
  readonly name: 'latency_ms' | 'cost_usd' | 'score';
  readonly pairs: number;
  readonly baseline: Spread;
  readonly new: Spread;
  readonly difference: { readonly mean: number; readonly low: number; readonly high: number };
}

/** What comparison.json says. */
export interface Comparison {
  readonly schema_version: 'comparison.v1';
  readonly comparison_id: string;
  readonly generated_at: string;
  readonly verdict: 'no_regression' | 'regression' | 'not_enough_evidence';
  readonly reason: string;
  readonly exit_code: 0 | 1 | 3;
  readonly gate: {
    readonly mode: 'strict' | 'statistical';
    readonly tolerances: object;
    readonly breaches: readonly {
      readonly metric: string;
      readonly limit: number;
      readonly measured: number;
      readonly message: string;
    }[];
  };
  readonly comparability: {
    readonly state: 'comparable' | 'drift' | 'not_comparable';
    readonly fields: readonly { readonly field: string; readonly baseline: unknown; readonly new: unknown }[];
  };
  readonly sides: { readonly baseline: ComparedSide; readonly new: ComparedSide };
  readonly summary: { readonly cases: number } & { readonly [Kind in Change]: number };
  readonly statistics: {
    readonly mcnemar: { readonly broke: number; readonly mended: number; readonly p_value: number };
    readonly metrics: readonly ComparedMetric[];
    readonly more_trials: number | null;
  };
  readonly cases: readonly ComparedCase[];
}

export interface Assertion extends Failing {
  readonly status: 'pass' | 'fail' | 'not_judged';
}

export interface JudgedCase {
  readonly case_id: string;
  readonly verdict: Verdict;
  readonly error_class: string | null;
  readonly assertions: readonly Assertion[];
  readonly metrics: {
    readonly latency_ms: number | null;
    readonly attempts: number;
    readonly cost_usd: number | null;
    readonly tokens: number | null;
    readonly steps: number;
    readonly score: number | null;
  };
  readonly output_hash: string | null;
}

/** What evaluation.json says. */
export interface Evaluation {
  readonly schema_version: 'evaluation.v1';
  readonly run_id: string;
  readonly version: Side;
  readonly generated_at: string;
  readonly judge_version: string;
  readonly seal_sha256: string;
  readonly cases_sha256: string | null;
  readonly summary: {
    readonly total: number;
    readonly passed: number;
    readonly failed: number;
    readonly errors: number;
    readonly unjudged: number;
  };
  readonly cases: readonly JudgedCase[];
}

/** What came of one case on each side, as its documents say. */
export interface CasePair {
  readonly baseline?: CaseArtifact | undefined;
  readonly new?: CaseArtifact | undefined;
  readonly case?: SuiteCase | undefined;
}

interface Sources {
  /** Reads the documents of one case; asked only for the cases that are shown in full. */
  readonly pairs: (caseId: string) => CasePair;
  /** Walks the cases of the suite once, for the suite that each belongs to. */
  readonly cases?: (() => Iterable<Pick<SuiteCase, 'id' | 'suite' | 'title'>>) | undefined;
  /** The text of a small asset, or undefined for one that is too large, missing or no text. */
  readonly assetText?: ((side: Side, href: string) => string | undefined) | undefined;
  /** How large the page may become; the default is the most there is. */
  readonly bytesMax?: number | undefined;
}

export interface ReportInput extends Sources {
  readonly comparison: Comparison;
  /** Addresses of the two targets, as their runs give them. */
  readonly targets?: { readonly [Which in Side]?: string | undefined } | undefined;
}

export interface RunReportInput extends Sources {
  readonly run: RunArtifact;
  readonly evaluation: Evaluation;
}

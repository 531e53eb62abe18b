import type { CaseArtifact } from '../contracts/artifacts/index.ts';

/** What judging says of a run: evaluation.v1. */
export interface Judged {
  readonly schema_version: 'evaluation.v1';
  readonly run_id: string;
  readonly version: 'baseline' | 'new';
  readonly generated_at: string;
  readonly judge_version: string;
  readonly seal_sha256: string;
  readonly cases_sha256: string;
  readonly summary: {
    readonly total: number;
    readonly passed: number;
    readonly failed: number;
    readonly errors: number;
    readonly unjudged: number;
  };
  readonly cases: readonly JudgedCase[];
}

export interface JudgedCase {
  readonly case_id: string;
  readonly case_sha256: string;
  readonly verdict: 'pass' | 'fail' | 'error';
  readonly error_class:
    | null
    | 'timeout'
    | 'http_error'
    | 'invalid_json'
    | 'schema_mismatch'
    | 'network_error'
    | 'other'
    | 'missing';
  readonly assertions: readonly {
    readonly name: string;
    readonly status: 'pass' | 'fail' | 'not_judged';
    readonly message: string | null;
    readonly at: string | null;
  }[];
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

/** One run of the suite, judged. */
export interface TrialOfSide {
  readonly runId: string;
  /** Where its artifacts are; undefined if only what was accepted of it is known. */
  readonly folder: string | undefined;
  readonly sealSha256: string | undefined;
  readonly evaluation: Pick<Judged, 'cases'>;
  readonly environmentHash: string | undefined;
  readonly targetSha256: string | undefined;
  readonly casesSha256: string | undefined;
  /** What the run was done with, by the names under which drift is told: `settings.retries`, `policy.sandbox.backend`. */
  readonly conditions: Conditions | undefined;
}

export type Conditions = Readonly<Record<string, string>>;

/** One side of a comparison: trials of the same suite. A side without trials is one that does not exist yet. */
export interface Side {
  readonly source: 'runs' | 'accepted';
  readonly trials: readonly TrialOfSide[];
}

/** How the artifact of a case is read, when it is needed. */
export type ArtifactReader = (trial: TrialOfSide, caseId: string) => CaseArtifact | undefined;

/** What people call a case. */
export interface CaseName {
  readonly title?: string | undefined;
  readonly suite?: string | undefined;
}

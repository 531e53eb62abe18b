import type { CaseArtifact } from '../contracts/artifacts/index.ts';

/** What is known about a case before its answer. */
export interface PageUnderWay {
  /** The attempts that failed and were retried. */
  readonly attempts: NonNullable<CaseArtifact['attempts']>;
  /** The attempt that waits for its answer. */
  readonly sent: {
    readonly attempt: number;
    readonly started_at: string;
    /** The run of a script or an agent that answers. */
    readonly run_id: string | null;
  } | null;
}

import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import type { SuiteCase } from '../../contracts/suite/index.ts';

/** A script that judges one case. */
export interface Check {
  readonly script: string;
  readonly input: { readonly case: SuiteCase; readonly artifact: CaseArtifact };
  /** Defaults to the time limit for scripts. */
  readonly timeoutMs?: number;
}

/** A check's verdict on a case, or why it has none, in a sentence. */
export type CheckAnswer = { readonly ok: boolean; readonly message: string } | { readonly trouble: string };

/** Runs a check to its end. Failures to run are answers, not exceptions. */
export type RunCheck = (check: Check) => Promise<CheckAnswer>;

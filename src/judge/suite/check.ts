import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import type { SuiteCase } from '../../contracts/suite/index.ts';

/** A script that judges one case. */
export interface Check {
  /** The file of the script. */
  readonly script: string;
  readonly input: { readonly case: SuiteCase; readonly artifact: CaseArtifact };
  /** How long it may take; as long as any script, if not said. */
  readonly timeoutMs?: number;
}

/** What a check says of a case, or why it says nothing. Both in a sentence. */
export type CheckAnswer = { readonly ok: boolean; readonly message: string } | { readonly trouble: string };

/** Runs a check to its end. What goes wrong with it is an answer, too. */
export type RunCheck = (check: Check) => Promise<CheckAnswer>;

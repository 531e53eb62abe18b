import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import type { Evaluation, JudgedCase } from '../contracts/evaluation/index.ts';
import type { SuiteCase } from '../contracts/suite/index.ts';
import type { CaseGroup } from '../contracts/gate/limits/index.ts';

export type { JudgedCase };

export type Judged = Evaluation;

/** One judged run of the suite. */
export interface TrialOfSide {
  readonly runId: string;
  /** True for a run that repeats only suspect cases. */
  readonly isRerun?: boolean;
  /** The folder of its artifacts; undefined if only the accepted document is known. */
  readonly folder: string | undefined;
  /** Its documents in the pack of an accepted baseline. */
  readonly kept?: KeptDocuments | undefined;
  /** The names of its cases, if already known. */
  readonly names?: ReadonlyMap<string, CaseName> | undefined;
  readonly sealSha256: string | undefined;
  readonly evaluation: { readonly cases: readonly JudgedCase[] };
  /** The hash of the evaluation's seal; undefined for an evaluation that was just made. */
  readonly evaluationSeal?: string | undefined;
  readonly environmentHash: string | undefined;
  readonly targetSha256: string | undefined;
  /** The address of the target, without query values; undefined if it has none. */
  readonly address?: string | undefined;
  readonly casesSha256: string | undefined;
  /** The conditions of the run, by drift field: `settings.retries`, `policy.sandbox.backend`. */
  readonly conditions: Conditions | undefined;
}

export type Conditions = Readonly<Record<string, string>>;

/** One side of a comparison: trials of the same suite. A side that does not exist yet has no trials. */
export interface Side {
  readonly source: 'runs' | 'accepted';
  readonly trials: readonly TrialOfSide[];
  /** Names the missing trials in a sentence; undefined if none is missing. */
  readonly incomplete?: string | undefined;
  /** The hash of an accepted baseline's seal. */
  readonly baselineSeal?: string | undefined;
  /** Whether the pack that an accepted baseline names is present; undefined if it names none. */
  readonly pack?: 'read' | 'missing' | undefined;
}

/** Documents of a run in a pack. */
export interface KeptDocuments {
  readonly artifactOf: (caseId: string) => CaseArtifact | undefined;
  readonly caseOf: (caseId: string) => SuiteCase | undefined;
}

/** Reads the artifact of a case on demand. */
export type ArtifactReader = (trial: TrialOfSide, caseId: string) => CaseArtifact | undefined;

/** Reads a case as it was sent, on demand. */
export type CaseReader = (trial: TrialOfSide, caseId: string) => SuiteCase | undefined;

/** The title of a case, and the groups it belongs to. */
export interface CaseName extends Omit<CaseGroup, 'case_id'> {
  readonly title?: string | undefined;
}

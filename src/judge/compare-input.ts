import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import type { Evaluation, JudgedCase } from '../contracts/evaluation/index.ts';
import type { SuiteCase } from '../contracts/suite/index.ts';
import type { CaseGroup } from '../contracts/gate/limits/index.ts';

export type { JudgedCase };

/** What judging says of a run. */
export type Judged = Evaluation;

/** One run of the suite, judged. */
export interface TrialOfSide {
  readonly runId: string;
  /** It asked only cases that looked broken, once more. */
  readonly isRerun?: boolean;
  /** Where its artifacts are; undefined if only what was accepted of it is known. */
  readonly folder: string | undefined;
  /** What the pack of an accepted baseline keeps of it. */
  readonly kept?: KeptDocuments | undefined;
  /** The names of its cases, if they are known already. */
  readonly names?: ReadonlyMap<string, CaseName> | undefined;
  readonly sealSha256: string | undefined;
  readonly evaluation: { readonly cases: readonly JudgedCase[] };
  /** The hash of the seal of that evaluation; undefined where it was made just now, and has none. */
  readonly evaluationSeal?: string | undefined;
  readonly environmentHash: string | undefined;
  readonly targetSha256: string | undefined;
  /** The address that it asked, without the values of its query; undefined where it asked none. */
  readonly address?: string | undefined;
  readonly casesSha256: string | undefined;
  /** What the run was done with, by the names under which drift is told: `settings.retries`, `policy.sandbox.backend`. */
  readonly conditions: Conditions | undefined;
}

export type Conditions = Readonly<Record<string, string>>;

/** One side of a comparison: trials of the same suite. A side without trials is one that does not exist yet. */
export interface Side {
  readonly source: 'runs' | 'accepted';
  readonly trials: readonly TrialOfSide[];
  /** Which of its trials are not here, in a sentence; undefined where all are. */
  readonly incomplete?: string | undefined;
  /** The hash of the seal of an accepted baseline. */
  readonly baselineSeal?: string | undefined;
  /** Whether the pack that an accepted baseline names is at hand; undefined where it names none. */
  readonly pack?: 'read' | 'missing' | undefined;
}

/** Documents of a run that lie in a pack. */
export interface KeptDocuments {
  readonly artifactOf: (caseId: string) => CaseArtifact | undefined;
  readonly caseOf: (caseId: string) => SuiteCase | undefined;
}

/** How the artifact of a case is read, when it is needed. */
export type ArtifactReader = (trial: TrialOfSide, caseId: string) => CaseArtifact | undefined;

/** How a case as it was sent is read, when it is needed. */
export type CaseReader = (trial: TrialOfSide, caseId: string) => SuiteCase | undefined;

/** What people call a case, and what it belongs to. */
export interface CaseName extends Omit<CaseGroup, 'case_id'> {
  readonly title?: string | undefined;
}

import type { CaseArtifact, RunArtifact } from '../contracts/artifacts/index.ts';
import type { Comparison } from '../contracts/comparison/index.ts';
import type { Evaluation } from '../contracts/evaluation/index.ts';
import type { SuiteCase } from '../contracts/suite/index.ts';
import type { Repetition } from './report.ts';

export type Side = 'baseline' | 'new';

/** What came of one case on each side, as its documents say. */
export interface CasePair {
  readonly baseline?: CaseArtifact | undefined;
  readonly new?: CaseArtifact | undefined;
  readonly case?: SuiteCase | undefined;
  /** Which trials these are, where there are several. */
  readonly runIds?: { readonly [Which in Side]?: string | undefined } | undefined;
}

interface Sources {
  /** Reads the documents of one case; asked only for the cases that are shown in full. */
  readonly pairs: (caseId: string) => CasePair;
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
  readonly repetition?: Repetition | undefined;
  /** Walks the cases of the suite once, for the title and the suite of each. */
  readonly cases?: (() => Iterable<Pick<SuiteCase, 'id' | 'suite' | 'title'>>) | undefined;
}

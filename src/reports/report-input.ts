import type { CaseArtifact, RunArtifact } from '../contracts/artifacts/index.ts';
import type { Comparison } from '../contracts/comparison/index.ts';
import type { Evaluation } from '../contracts/evaluation/index.ts';
import type { SuiteCase } from '../contracts/suite/index.ts';
import type { PageCommands } from './page-data.ts';
import type { Repetition } from './report.ts';

export type ReportSide = 'baseline' | 'new';

/** The documents of one case on each side. */
export interface ReportedPair {
  readonly baseline?: CaseArtifact | undefined;
  readonly new?: CaseArtifact | undefined;
  readonly case?: SuiteCase | undefined;
  /** The baseline's case, if it is available. Read only for a changed case. */
  readonly was?: SuiteCase | undefined;
  /** What does not match the seal of its run, in sentences. */
  readonly unproven?: readonly string[] | undefined;
  /** The runs that the artifacts come from, if there are several. */
  readonly runIds?: { readonly [Which in ReportSide]?: string | undefined } | undefined;
}

interface Sources {
  /** Reads the documents of one case. Called only for cases shown in full. */
  readonly pairs: (caseId: string) => ReportedPair;
  /** Reads the answers of a case that has only a row, for the search; undefined once enough bytes were read. */
  readonly further?: ((caseId: string) => Pick<ReportedPair, ReportSide> | undefined) | undefined;
  /** Iterates over the inputs of the suite, for the search. Without it, the page searches only cases shown in full. */
  readonly inputs?: (() => Iterable<Pick<SuiteCase, 'id' | 'input'>>) | undefined;
  /** The text of a small asset; undefined if it is too large, missing or not text. */
  readonly assetText?: ((side: ReportSide, href: string) => string | undefined) | undefined;
  /** Reads the artifact of one trial, counted from 1. Later calls of `assetText` for its side mean this trial. */
  readonly trial?: ((caseId: string, side: ReportSide, number: number) => CaseArtifact | undefined) | undefined;
  /** The commands to run next. */
  readonly commands?: PageCommands | undefined;
  /** The runs that do not match their seals, and the first difference of each. */
  readonly damage?: readonly { readonly runId: string; readonly trouble: string }[] | undefined;
  /** The size limit of the page; the default is the maximum. */
  readonly bytesMax?: number | undefined;
}

export interface ReportInput extends Sources {
  readonly comparison: Comparison;
  /** The addresses of the two targets, as recorded by their runs. */
  readonly targets?: { readonly [Which in ReportSide]?: string | undefined } | undefined;
}

export interface RunReportInput extends Sources {
  readonly run: RunArtifact;
  readonly evaluation: Evaluation;
  readonly repetition?: Repetition | undefined;
  readonly parts?: string | undefined;
  /** Iterates over the cases of the suite, for titles and groups. */
  readonly cases?: (() => Iterable<Pick<SuiteCase, 'id' | 'suite' | 'title' | 'metadata'>>) | undefined;
}

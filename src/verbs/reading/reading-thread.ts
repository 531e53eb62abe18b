/** The entry point of the threads in which the server reads large folders. The build makes it a module of its own. */
import { Fault } from '../../base/fault.ts';
import { useStateFolder } from '../../base/state-folder.ts';
import type { RunFolder } from '../../evidence/run-folder/runs.ts';
import type { ComparisonOrder } from './comparison-list.ts';
import type { CaseQuery } from './opened-report.ts';
import type { ReportSubject } from './suite-readings.ts';

/**
 * What can be read in a thread. Each function takes and returns plain data, and loads its code on first use. A new
 * reading needs a line here.
 */
const READINGS = {
  evidence: async (input: { readonly folder: string; readonly cwd: string }) =>
    (await import('../evidence/run-evidence.ts')).runEvidence(input),
  files: async (input: { readonly folder: string }) => (await import('../evidence/run-files.ts')).runFiles(input),
  log: async (input: { readonly folder: string }) => (await import('../evidence/run-log.ts')).runLog(input),
  correlation: async (input: { readonly home: string; readonly correlationId: string }) =>
    (await import('../evidence/run-log.ts')).runOfCorrelation(input),
  history: async (input: {
    readonly cwd: string;
    readonly suite?: string | undefined;
    readonly caseId?: string | undefined;
  }) => (await import('../history/served-history.ts')).servedHistory(input),
  ledger: async (input: { readonly home: string; readonly folder: string }) =>
    (await import('../evidence/ledger-facts.ts')).ledgerFacts(input),
  upload: async (input: { readonly file: string; readonly cwd: string }) =>
    (await import('../evidence/upload-verdict.ts')).uploadVerdict(input),
  pack: async ({ folder, cwd, out }: { readonly folder: string; readonly cwd: string; readonly out: string }) =>
    (await import('../pack.ts')).packRun(folder, { cwd, out }),
  page: async ({ place, cwd }: { readonly place: RunFolder; readonly cwd: string }) =>
    (await import('../run-pages.ts')).pageJsonOf(place, cwd),
  report: async (input: ReportSubject) => (await import('./suite-readings.ts')).reportJson(input),
  cases: async (input: ReportSubject & { readonly query: CaseQuery }) =>
    (await import('./suite-readings.ts')).listedCasesJson(input),
  case: async (input: ReportSubject & { readonly caseId: string }) =>
    (await import('./suite-readings.ts')).openedCaseJson(input),
  comparison: async (input: { readonly folder: string; readonly cwd: string }) =>
    (await import('./comparison-list.ts')).comparisonRow(input.folder, input.cwd),
  choices: async (input: { readonly folder: string; readonly cwd: string }) =>
    (await import('./comparison-list.ts')).baselineChoices(input.folder, input.cwd),
  compare: async (input: ComparisonOrder & { readonly cwd: string }) =>
    (await import('./comparison-list.ts')).makeComparison(input, input.cwd),
};

export type Readings = typeof READINGS;

export interface ReadingQuestion {
  readonly read: keyof Readings;
  readonly input: never;
  /** The state folder of the process, if it was set. A thread does not know it. */
  readonly stateFolder: string | undefined;
}

/** A fault crosses threads as its code and its sentence. */
export type ReadingAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string };

export default async function answerReading({ read, input, stateFolder }: ReadingQuestion): Promise<ReadingAnswer> {
  if (stateFolder !== undefined) useStateFolder(stateFolder);
  try {
    return { ok: true, value: await READINGS[read](input) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { ok: false, code: error.code, message: error.message };
  }
}

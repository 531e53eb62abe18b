import { Fault } from '../../base/fault.ts';
import { StampedCache } from '../../base/stamped-cache.ts';
import { treeStamp } from '../../base/tree-stamp.ts';
import { isSealed } from '../../evidence/recovery/recover.ts';
import { OpenSuiteRun } from './open-run.ts';
import type { CaseQuery, OpenedReport } from './opened-report.ts';
import { openComparisonReport, openRunReport } from './read-report.ts';

/** A report: on a suite run, sealed or not, or on a sealed comparison. */
export interface ReportSubject {
  readonly of: 'run' | 'comparison';
  readonly folder: string;
  /** The project. */
  readonly cwd: string;
}

/** The verdict and the overview, as JSON. */
export const reportJson = (subject: ReportSubject): Promise<string> =>
  fromReport(subject, report => report.reportText());

/** A part of the list of cases, as JSON. */
export const listedCasesJson = (asked: ReportSubject & { readonly query: CaseQuery }): Promise<string> =>
  fromReport(asked, report => report.casesText(asked.query));

/** A case, as JSON. */
export const openedCaseJson = (asked: ReportSubject & { readonly caseId: string }): Promise<string> =>
  fromReport(asked, report => {
    const text = report.caseText(asked.caseId);
    if (text === undefined) throw new Fault('no_case', 'There is no case with this id.');
    return text;
  });

async function fromReport(subject: ReportSubject, read: (report: OpenedReport) => string): Promise<string> {
  const { of, folder, cwd } = subject;
  if (of === 'run' && !isSealed(folder)) return read(await openRunAt(folder).report());
  closeRun(folder);
  const opened = (): Promise<OpenedReport> =>
    sealed.get(
      folder,
      () => treeStamp(folder),
      () => (of === 'run' ? openRunReport(folder, cwd) : openComparisonReport(folder, cwd)),
    );
  try {
    return read(await opened());
  } catch (error) {
    // A file was changed or removed after the report was opened. A new one says so.
    if (!(error instanceof Fault) || error.code !== 'not_as_sealed') throw error;
    sealed.forget(folder);
    return read(await opened());
  }
}

const sealed = new StampedCache<OpenedReport>({
  entriesMax: 8,
  unitsMax: 100_000,
  unitsOf: ({ cases }) => cases,
  checkAfterMs: 1_000,
});

/** The newest use is last. */
const open = new Map<string, OpenSuiteRun>();
const OPEN_MAX = 4;

function openRunAt(folder: string): OpenSuiteRun {
  const known = open.get(folder);
  if (known && !known.isCurrent) closeRun(folder);
  const run = known?.isCurrent ? known : OpenSuiteRun.open(folder);
  open.delete(folder);
  open.set(folder, run);
  for (const oldest of open.keys()) {
    if (open.size <= OPEN_MAX) break;
    closeRun(oldest);
  }
  return run;
}

function closeRun(folder: string): void {
  open.get(folder)?.close();
  open.delete(folder);
}

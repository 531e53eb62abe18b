import { StampedCache } from '../../base/stamped-cache.ts';
import { treeStamp } from '../../base/tree-stamp.ts';
import type { CaseQuery } from '../../verbs/reading/opened-report.ts';
import type { ReportSubject } from '../../verbs/reading/suite-readings.ts';
import type { ReadingThreads } from '../../verbs/reading/reading-threads.ts';
import type { RunPlace } from './run-index.ts';

/** What the viewer reads of runs. Reading a run verifies it, so a thread does it, and pages are kept until a file changes. */
export class RunData {
  readonly #cwd: string;
  readonly #threads: ReadingThreads;
  readonly #pages = new StampedCache<string | undefined>({
    entriesMax: 100,
    unitsMax: 64 * 1024 ** 2,
    unitsOf: text => text?.length ?? 0,
    checkAfterMs: 1_000,
  });

  constructor(cwd: string, threads: ReadingThreads) {
    this.#cwd = cwd;
    this.#threads = threads;
  }

  /** The page of a run as JSON; undefined for a suite run. */
  page(place: RunPlace): Promise<string | undefined> {
    const { folder } = place;
    const read = () => this.#threads.read('page', { place, cwd: this.#cwd }, { near: folder });
    return this.#pages.get(folder, () => treeStamp(folder), read);
  }

  report(of: ReportPlace): Promise<string> {
    return this.#threads.read('report', { ...of, cwd: this.#cwd }, { near: of.folder });
  }

  cases(of: ReportPlace, query: CaseQuery): Promise<string> {
    return this.#threads.read('cases', { ...of, cwd: this.#cwd, query }, { near: of.folder });
  }

  case(of: ReportPlace, caseId: string): Promise<string> {
    return this.#threads.read('case', { ...of, cwd: this.#cwd, caseId }, { near: of.folder });
  }
}

/** What a report is about. */
export type ReportPlace = Omit<ReportSubject, 'cwd'>;

import { Fault } from '../../base/fault.ts';
import { historyPage } from '../../reports/pages/history-page.ts';
import type { SmallPage } from '../../reports/pages/page-kinds.ts';
import { historyOf } from './history.ts';

interface Asked {
  readonly cwd: string;
  /** All suites by default. */
  readonly suite?: string | undefined;
  readonly caseId?: string | undefined;
}

/** The page of a history, as the server gives it. Its links lead to runs of the server, not to files. */
export function servedHistory({ cwd, suite, caseId }: Asked): SmallPage<'history'> {
  const history = historyOf({ cwd, name: suite, caseId });
  // A name that no suite has could be the name of a case.
  if (caseId === undefined && history.case_id !== null) throw noHistory('suite');
  const [first] = history.suites;
  if (caseId !== undefined && (first?.cases.length ?? 0) === 0) throw noHistory('case');
  const suites = history.suites.map(one => ({ ...one, runs: one.runs.map(run => ({ ...run, report: null })) }));
  return historyPage({ ...history, suites });
}

function noHistory(what: string): Fault {
  return new Fault('no_history', `No judged run has this ${what}.`);
}

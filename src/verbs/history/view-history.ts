import { lstatSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../../base/atomic.ts';
import { Fault } from '../../base/fault.ts';
import { modesIn } from '../../base/private.ts';
import { readRegular } from '../../base/regular.ts';
import { homeFrom } from '../../evidence/run-folder/runs.ts';
import type { History } from '../../reports/pages/history-data.ts';
import { historyPage } from '../../reports/pages/history-page.ts';
import { htmlPage } from '../../reports/pages/html-page.ts';
import { makeReportFolder, refuseSealed } from '../report.ts';
import { historyOf, type HistoryOptions } from './history.ts';

export interface ViewHistoryOptions extends Omit<HistoryOptions, 'linkFrom'> {
  /** The file to write; `.proctor/reports/history/report.html` by default. */
  readonly file?: string | undefined;
  /** Opens the page in a browser. */
  readonly isOpening: boolean;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** Writes the history as a page, and opens it in the browser of this desktop if there is one. */
export async function viewHistory(options: ViewHistoryOptions) {
  const { file: named, isOpening, environment = {}, cwd = process.cwd(), ...asked } = options;
  const file =
    named === undefined ? path.join(homeFrom(cwd), 'reports', 'history', 'report.html') : path.resolve(cwd, named);
  const linkFrom = path.dirname(file);
  refuseSealed(linkFrom);
  if (named !== undefined) refuseOtherFile(file);
  const history = wholeHistory({ ...asked, cwd, linkFrom });
  makeReportFolder(linkFrom);
  writeAtomic(file, htmlPage(historyPage(history)), modesIn(linkFrom).file);
  if (!isOpening) return { file, isOpened: false };
  const { openPage } = await import('../../execute/host/open-page.ts');
  return { file, isOpened: await openPage(file, environment) };
}

/** A mistyped name must not cost a file that is not a page. */
function refuseOtherFile(file: string): void {
  const known = lstatSync(file, { throwIfNoEntry: false });
  if (!known) return;
  const start = readRegular(file, PAGE_BYTES_MAX)?.toString('latin1', 0, 15).toLowerCase();
  if (start === '' || start === '<!doctype html>') return;
  throw new Fault('usage', 'The file of --html exists, and it is not a page. Specify another file.');
}

const PAGE_BYTES_MAX = 100_000_000;

/** The page of a case shows the rest of its suite, too. */
function wholeHistory(options: HistoryOptions): History {
  const asked = historyOf(options);
  const [suite] = asked.suites;
  const [one] = suite?.cases ?? [];
  if (asked.case_id === null || !suite || !one) return asked;
  const whole = historyOf({ ...options, name: suite.name, caseId: undefined });
  const [other] = whole.suites;
  if (other?.runs.length !== suite.runs.length) return asked;
  const isThere = other.cases.some(({ case_id }) => case_id === one.case_id);
  return {
    ...whole,
    suites: [isThere ? other : { ...other, cases: [...other.cases, one] }],
    case_id: asked.case_id,
  };
}

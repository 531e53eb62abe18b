import path from 'node:path';
import { writeAtomic } from '../../base/atomic.ts';
import { Fault } from '../../base/fault.ts';
import { makeFolders, modesIn } from '../../base/private.ts';
import { homeFrom } from '../../evidence/run-folder/runs.ts';
import { historyOf, type HistoryOptions } from './history.ts';

export interface ViewHistoryOptions extends Omit<HistoryOptions, 'linkFrom'> {
  /** The file to write; `.proctor/reports/history/report.html` by default. */
  readonly file?: string | undefined;
  /** Opens the page in a browser. */
  readonly isOpening: boolean;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

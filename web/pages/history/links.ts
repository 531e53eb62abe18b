import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { HistoryRun } from '../../../src/reports/pages/history-data.ts';
import { type HistoryAddress, historyHash } from './address.ts';

/** Where the links of a history lead. */
export interface HistoryLinks {
  readonly view: (address: HistoryAddress) => string;
  /** The page of a run, at a case; undefined if there is none. */
  readonly run: (run: HistoryRun, caseId?: string) => string | undefined;
}

/** The page in a file: other views are in its fragment, and runs have reports beside it. */
const IN_A_FILE: HistoryLinks = { view: historyHash, run: reportLink };

const LinksContext = createContext(IN_A_FILE);

export const HistoryLinksProvider = LinksContext.Provider;

export const useHistoryLinks = (): HistoryLinks => useContext(LinksContext);

/** The address of a report, at a case. Encodes every part, because the name of a folder may contain anything. */
function reportLink({ report }: Pick<HistoryRun, 'report'>, caseId?: string): string | undefined {
  if (report === null) return undefined;
  const file = report.split('/').map(encodeURIComponent).join('/');
  return caseId === undefined ? file : `${file}#${new URLSearchParams({ case: caseId }).toString()}`;
}

import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type {
  Coverage,
  PageCase,
  PageHead,
  PageIndex,
  PageRow,
  PageTrialDocument,
} from '../../src/reports/page-data.ts';
import type { ReportSide } from '../../src/reports/report-input.ts';

/** Where a report gets its data: from the page that contains it, or from a server. */
export interface Source {
  readonly head: PageHead;
  readonly rows: readonly PageRow[];
  /** A case; undefined while it is on its way, and null if there is none. */
  readonly caseAt: (index: number) => PageCase | null | undefined;
  /** Calls back once the case is there, or is known to be missing. */
  readonly whenCase: (index: number, then: () => void) => void;
  /** The document of a trial besides the one that the case shows first; undefined if the source does not have it. */
  readonly trialAt: (index: number, side: ReportSide, number: number) => PageTrialDocument | undefined;
  /** Undefined while the page is loading, and forever if it was truncated. Null if the source has everything. */
  readonly coverage: () => Coverage | null | undefined;
  /** The search index. Undefined while it is loading. */
  readonly wordIndex: () => PageIndex | undefined;
  readonly isRead: () => boolean;
  /** Calls back once everything has loaded. */
  readonly whenRead: (then: () => void) => void;
}

const SourceContext = createContext<Source | undefined>(undefined);

export const SourceProvider = SourceContext.Provider;

export function useSource(): Source {
  const source = useContext(SourceContext);
  if (!source) throw new Error('A report needs a source.');
  return source;
}

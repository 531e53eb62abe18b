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
import type { RowSeries } from '../../src/reports/rows/row-values.ts';
import type { Chosen } from '../../src/reports/rows/selection.ts';

/** Where a report gets its data: from the page that contains it, or from a server. Members with `use` are hooks. */
export interface Source {
  readonly head: PageHead;
  readonly series: () => RowSeries;
  /** The first cases that need attention, and their number. */
  readonly urgent: () => { readonly rows: readonly PageRow[]; readonly total: number };
  /** The cases that pass the filters. `open` is the id of the open case, or empty. */
  readonly useListed: (chosen: Chosen, open: string) => ListedCases;
  readonly useCase: (id: string) => OpenedCase;
  /** The document of a trial besides the one that the case shows first; undefined if the source does not have it. */
  readonly trialAt: (id: string, side: ReportSide, number: number) => PageTrialDocument | undefined;
  /** The first cases of a cause. */
  readonly idsOf: (cause: PageHead['causes']['listed'][number], max: number) => readonly string[];
  /** Undefined while the page is loading, and forever if it was truncated. Null if the source has everything. */
  readonly coverage: () => Coverage | null | undefined;
  readonly isRead: () => boolean;
  /** Calls back once everything has loaded. */
  readonly whenRead: (then: () => void) => void;
}

/** A list of cases. A source may have only a part of its rows yet. */
export interface ListedCases {
  /** Changes with the filters and the order. */
  readonly key: unknown;
  /** How many cases pass the filters. */
  readonly length: number;
  /** How many cases the report has. */
  readonly cases: number;
  /** Undefined while the row is on its way. */
  readonly rowAt: (position: number) => PageRow | undefined;
  /** The position of the open case, or -1. */
  readonly position: number;
  /** Says which rows are visible. */
  readonly show: (from: number, to: number) => void;
  /** What the search covers; undefined if it covers only ids, titles and reasons. */
  readonly searched: Pick<PageIndex, 'inputs' | 'answers' | 'left_out' | 'chars_max'> | undefined;
  /** Why the list is not up to date; empty if it is. */
  readonly trouble: string;
}

export interface OpenedCase {
  /** Undefined if there is no such case, or while it is on its way. */
  readonly row: PageRow | undefined;
  /** Undefined while it is on its way, and null if the source has only the row. */
  readonly data: PageCase | null | undefined;
  /** Whether the source looks for the case. */
  readonly isAsking: boolean;
}

const SourceContext = createContext<Source | undefined>(undefined);

export const SourceProvider = SourceContext.Provider;

export function useSource(): Source {
  const source = useContext(SourceContext);
  if (!source) throw new Error('A report needs a source.');
  return source;
}

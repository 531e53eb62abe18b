import { useEffect, useMemo, useState } from 'preact/hooks';
import { eachRow } from '../../src/base/row-list.ts';
import type {
  Coverage,
  PageCase,
  PageHead,
  PageIndex,
  PageRow,
  PageTrialDocument,
} from '../../src/reports/page-data.ts';
import type { ReportSide } from '../../src/reports/report-input.ts';
import { isUrgent, rowSeries } from '../../src/reports/rows/row-values.ts';
import { Search } from '../../src/reports/rows/search.ts';
import { type Chosen, FILTERS, selected } from '../../src/reports/rows/selection.ts';
import { wholeTrial } from './trial-choice.ts';
import type { ListedCases, OpenedCase, Source } from '../shared/source.ts';

const head = parsed('head') as PageHead;
const rows = (parsed('rows') ?? []) as readonly PageRow[];

/** The data that the page contains. Cases are parsed when they are opened. */
export const embedded: Source = {
  head,
  series: () => rowSeries(rows, head.kind),
  urgent: () => {
    const urgent = rows.filter(isUrgent);
    return { rows: urgent, total: urgent.length };
  },
  useListed,
  useCase,
  trialAt,
  idsOf: (cause, max) => {
    const ids: string[] = [];
    eachRow(cause.rows, row => {
      const id = rows[row]?.[0];
      if (id !== undefined && ids.length < max) ids.push(id);
    });
    return ids;
  },
  coverage: () => parsed('coverage') as Coverage | undefined,
  isRead,
  whenRead,
};

function useListed(chosen: Chosen, open: string): ListedCases {
  const { search, index } = useSearch(chosen.q !== '');
  const indices = useMemo(
    () => selected(rows, head, chosen, search),
    [...FILTERS.map(key => chosen[key]), chosen.sort, search],
  );
  const row = useMemo(() => indexOf(open), [open]);
  const position = useMemo(() => indices.indexOf(row), [indices, row]);
  return useMemo(
    () => ({
      key: indices,
      length: indices.length,
      cases: rows.length,
      rowAt: at => rows[indices[at] ?? -1],
      position,
      show: () => undefined,
      searched: index,
      trouble: '',
    }),
    [indices, position, index],
  );
}

/** The search index, read at the first search. The end of a large page may arrive later. */
function useSearch(isAsked: boolean): { readonly search?: Search; readonly index?: PageIndex } {
  const [found, setFound] = useState<{ readonly search?: Search; readonly index?: PageIndex }>({});
  useEffect(() => {
    if (!isAsked || found.index) return;
    whenRead(() => {
      const index = parsed('words') as PageIndex | undefined;
      if (index) setFound({ search: new Search(index), index });
    });
  }, [isAsked]);
  return found;
}

/** The page may still be loading the case. */
function useCase(id: string): OpenedCase {
  const index = useMemo(() => indexOf(id), [id]);
  const [data, setData] = useState(() => caseAt(index));
  useEffect(() => {
    if (data === undefined) whenRead(() => setData(caseAt(index)));
  }, []);
  return { row: rows[index], data, isAsking: false };
}

const indexOf = (id: string): number => (id === '' ? -1 : rows.findIndex(row => row[0] === id));

const caseAt = (index: number): PageCase | null | undefined =>
  (parsed(`case-${index}`) as PageCase | undefined) ?? (isRead() ? null : undefined);

function trialAt(id: string, side: ReportSide, number: number): PageTrialDocument | undefined {
  const index = indexOf(id);
  const found = parsed(`case-${index}-${side}-${number}`) as PageTrialDocument | undefined;
  return found && wholeTrial(found, caseAt(index), side);
}

/** Calls back once the whole page has loaded. */
function whenRead(then: () => void): void {
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', then, { once: true });
  else then();
}

function isRead(): boolean {
  return document.readyState !== 'loading';
}

function parsed(id: string): unknown {
  const text = document.getElementById(id)?.textContent;
  return text ? JSON.parse(text) : undefined;
}

import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import type { PageHead, PageRow } from '../../../src/reports/page-data.ts';
import { type Chosen, FILTERS } from '../../../src/reports/rows/selection.ts';
import type { CaseListPage } from '../../../src/verbs/reading/opened-report.ts';
import type { ListedCases } from '../../shared/source.ts';
import { ask } from '../api.ts';
import { pageRow } from './case-rows.ts';

/** What the page has of a list. */
interface Known {
  /** The list: its address without a position. */
  readonly list: string;
  readonly length: number;
  readonly cases: number;
  readonly searched: CaseListPage['searched'];
  /** By the number of the part. An older version is shown until the new one arrives. */
  readonly parts: ReadonlyMap<number, { readonly version: number; readonly rows: readonly PageRow[] }>;
  readonly trouble: string;
}

/**
 * A list that the server filters, sorts and pages. It asks for the parts that are visible, and again when `version`
 * changes.
 */
export function useListedCases(
  path: string,
  head: PageHead,
  version: number,
  chosen: Chosen,
  open: string,
): ListedCases {
  const list = useLater(`${path}/cases?${queryOf(chosen)}`);
  const [known, setKnown] = useState<Known>({ ...NOTHING, list });
  const [[from, to], setWindow] = useState<readonly [number, number]>([0, 0]);
  const current = known.list === list ? known : { ...known, parts: NO_PARTS };
  const position = positionOf(current.parts, open);
  const needed = new Set([partOf(from), partOf(Math.max(from, to - 1))]);
  if (position >= 0) for (const at of [position - 1, position + 1]) if (at >= 0) needed.add(partOf(at));
  const missing = [...needed].filter(part => current.parts.get(part)?.version !== version);
  const around = open !== '' && position < 0 ? open : '';
  useEffect(() => {
    const stop = new AbortController();
    const take = (query: string): void => {
      ask<CaseListPage>(`${list}&limit=${PART_ROWS}&${query}`, stop.signal).then(
        answer => setKnown(last => withPart(last, list, answer, head, version)),
        (error: unknown) => {
          if (stop.signal.aborted) return;
          const trouble = error instanceof Error ? error.message : 'The list could not be read.';
          setKnown(last => ({ ...last, trouble }));
        },
      );
    };
    for (const part of missing) take(`from=${part * PART_ROWS}`);
    if (around !== '') take(`around=${encodeURIComponent(around)}`);
    return () => stop.abort();
  }, [list, version, missing.join(' '), around]);
  const show = useCallback((first: number, end: number) => setWindow([first, end]), []);
  return useMemo(
    () => ({
      key: list,
      length: known.length,
      cases: known.cases,
      rowAt: at => current.parts.get(partOf(at))?.rows[at % PART_ROWS],
      position,
      show,
      searched: known.searched ?? undefined,
      trouble: known.trouble,
    }),
    [known, list, position],
  );
}

const PART_ROWS = 100;
const partOf = (position: number): number => Math.floor(position / PART_ROWS);
const NO_PARTS: Known['parts'] = new Map();
const NOTHING: Known = { list: '', length: 0, cases: 0, searched: null, parts: NO_PARTS, trouble: '' };

function withPart(last: Known, list: string, answer: CaseListPage, head: PageHead, version: number): Known {
  const parts = new Map(last.list === list ? last.parts : NO_PARTS);
  parts.set(partOf(answer.from), { version, rows: answer.rows.map(row => pageRow(row, head)) });
  for (const oldest of parts.keys()) {
    if (parts.size <= PARTS_MAX) break;
    parts.delete(oldest);
  }
  return { list, length: answer.total, cases: answer.cases, searched: answer.searched, parts, trouble: '' };
}

const PARTS_MAX = 40;

function positionOf(parts: Known['parts'], id: string): number {
  if (id === '') return -1;
  for (const [part, { rows }] of parts) {
    const at = rows.findIndex(row => row[0] === id);
    if (at >= 0) return part * PART_ROWS + at;
  }
  return -1;
}

function queryOf(chosen: Chosen): string {
  const keys = [...FILTERS, 'sort' as const];
  return new URLSearchParams(keys.flatMap(key => (chosen[key] === '' ? [] : [[key, chosen[key]]]))).toString();
}

/** A text a moment after it stops changing, so that typing does not send a request per letter. */
function useLater(text: string): string {
  const [later, setLater] = useState(text);
  useEffect(() => {
    if (text === later) return undefined;
    const timer = setTimeout(() => setLater(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, later]);
  return later;
}

const PAUSE_MS = 120;

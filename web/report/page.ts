import type {
  Coverage,
  PageCase,
  PageHead,
  PageIndex,
  PageRow,
  PageTrialDocument,
} from '../../src/reports/page-data.ts';
import type { ReportSide } from '../../src/reports/report-input.ts';

/** The embedded data. Cases are parsed when they are opened. */
export const head = parsed('head') as PageHead;
export const rows = (parsed('rows') ?? []) as readonly PageRow[];

export const caseAt = (index: number): PageCase | undefined => parsed(`case-${index}`) as PageCase | undefined;

/** The document of a trial besides the one that the case shows first; undefined if the page does not have it. */
export function trialAt(index: number, side: ReportSide, number: number): PageTrialDocument | undefined {
  const found = parsed(`case-${index}-${side}-${number}`) as PageTrialDocument | undefined;
  if (!found?.same) return found;
  const first = caseAt(index);
  const artifact = first?.[side];
  if (!first || !artifact) return undefined;
  return { ...found, artifact: { ...artifact, attempts: found.attempts ?? [] }, assets: first.assets[side] };
}

/** Undefined while the page is loading, and forever if it was truncated. */
export const coverage = (): Coverage | undefined => parsed('coverage') as Coverage | undefined;

/** The search index. Undefined while the page is loading. */
export const wordIndex = (): PageIndex | undefined => parsed('words') as PageIndex | undefined;

export function rowIndex(id: string): number {
  return rows.findIndex(row => row[0] === id);
}

/** Calls back once the whole page has loaded. */
export function whenRead(then: () => void): void {
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', then, { once: true });
  else then();
}

export const isRead = (): boolean => document.readyState !== 'loading';

function parsed(id: string): unknown {
  const text = document.getElementById(id)?.textContent;
  return text ? JSON.parse(text) : undefined;
}

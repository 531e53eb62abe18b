import type { Coverage, PageCase, PageHead, PageRow } from '../../src/reports/page-data.ts';

/** What the page was written with. Cases are parsed when they are looked at. */
export const head = parsed('head') as PageHead;
export const rows = (parsed('rows') ?? []) as readonly PageRow[];

export const caseAt = (index: number): PageCase | undefined => parsed(`case-${index}`) as PageCase | undefined;

/** Undefined while the page is still being read, and for ever if it was cut off. */
export const coverage = (): Coverage | undefined => parsed('coverage') as Coverage | undefined;

export function rowIndex(id: string): number {
  return rows.findIndex(row => row[0] === id);
}

/** Calls once when the whole page has been read. */
export function whenRead(then: () => void): void {
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', then, { once: true });
  else then();
}

export const isRead = (): boolean => document.readyState !== 'loading';

function parsed(id: string): unknown {
  const text = document.getElementById(id)?.textContent;
  return text ? JSON.parse(text) : undefined;
}

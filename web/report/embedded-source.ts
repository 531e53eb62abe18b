import type {
  Coverage,
  PageCase,
  PageHead,
  PageIndex,
  PageRow,
  PageTrialDocument,
} from '../../src/reports/page-data.ts';
import type { ReportSide } from '../../src/reports/report-input.ts';
import type { Source } from '../shared/source.ts';

/** The data that the page contains. Cases are parsed when they are opened. */
export const embedded: Source = {
  head: parsed('head') as PageHead,
  rows: (parsed('rows') ?? []) as readonly PageRow[],
  caseAt: index => (parsed(`case-${index}`) as PageCase | undefined) ?? (isRead() ? null : undefined),
  whenCase: (_, then) => whenRead(then),
  trialAt,
  coverage: () => parsed('coverage') as Coverage | undefined,
  wordIndex: () => parsed('words') as PageIndex | undefined,
  isRead,
  whenRead,
};

function trialAt(index: number, side: ReportSide, number: number): PageTrialDocument | undefined {
  const found = parsed(`case-${index}-${side}-${number}`) as PageTrialDocument | undefined;
  if (!found?.same) return found;
  const first = embedded.caseAt(index);
  const artifact = first?.[side];
  if (!first || !artifact) return undefined;
  return { ...found, artifact: { ...artifact, attempts: found.attempts ?? [] }, assets: first.assets[side] };
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

import type { PageCase, PageHead, PageRow, PageTrialDocument } from '../../../src/reports/page-data.ts';
import type { CaseRow, Distributions } from '../../../src/verbs/reading/opened-report.ts';

/** The answers of the server about a report. */
export interface ReportAnswer {
  readonly head: PageHead;
  readonly distributions: Distributions;
  readonly urgent: { readonly rows: readonly CaseRow[]; readonly total: number };
}

export interface CaseAnswer {
  readonly row: CaseRow;
  readonly case: PageCase;
  readonly trials: Readonly<Record<string, PageTrialDocument>>;
}

/** A row of the server, as the list shows it. */
export function pageRow(row: CaseRow, { suites, error_classes: errors }: PageHead): PageRow {
  const plain = [
    row.case_id,
    row.title ?? 0,
    row.kind,
    row.suite === null ? -1 : suites.indexOf(row.suite),
    row.baseline,
    row.new,
    row.error_class === null ? -1 : errors.indexOf(row.error_class),
    row.baseline_ms,
    row.new_ms,
    row.baseline_usd,
    row.new_usd,
    row.why ?? 0,
  ] as const;
  return row.finding === null ? plain : [...plain, row.finding, row.tally ?? ''];
}

import { type PaintText, terminalReport } from '../reports/index.ts';
import type { Subject } from './report.ts';

/** The terminal report of a comparison or run. */
export function terminalText(
  subject: { readonly comparison: Extract<Subject, { comparison: unknown }>['comparison'] } | Subject,
  paint: PaintText,
  options: { readonly hasVerdict?: boolean } = {},
): string {
  const report = terminalReport(paint, options);
  return [...('comparison' in subject ? report.ofComparison(subject.comparison) : report.ofRun(subject))].join('');
}

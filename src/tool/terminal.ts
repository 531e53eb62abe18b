import { type Paint, terminalReport } from '../reports/index.ts';
import type { Subject } from './report.ts';

/** What a person in a terminal reads of a comparison or a run. */
export function terminalText(
  subject: { readonly comparison: Extract<Subject, { comparison: unknown }>['comparison'] } | Subject,
  paint: Paint,
): string {
  const report = terminalReport(paint);
  return [...('comparison' in subject ? report.ofComparison(subject.comparison) : report.ofRun(subject))].join('');
}

import type { Paint } from '../reports/index.ts';
import type { Subject } from './report.ts';

/** What a person in a terminal reads of a comparison or a run. */
export async function terminalText(
  subject: { readonly comparison: Extract<Subject, { comparison: unknown }>['comparison'] } | Subject,
  paint: Paint,
): Promise<string> {
  const { terminalReport } = await import('../reports/index.ts');
  const report = terminalReport(paint);
  return [...('comparison' in subject ? report.ofComparison(subject.comparison) : report.ofRun(subject))].join('');
}

import type { RunSuiteOptions } from './run-suite.ts';
import { reportSubject, type ReportOptions, writeReports } from './report.ts';

export interface ViewOptions extends Pick<ReportOptions, 'signingKey' | 'signal'> {
  /** Opens the report in a browser. */
  readonly isOpening: boolean;
  readonly environment?: RunSuiteOptions['environment'];
  readonly cwd?: string;
}

/** Writes the HTML report of a run or comparison, and opens it in the browser of this desktop if there is one. */
export async function viewReport(word: string, options: ViewOptions) {
  const { cwd = process.cwd(), isOpening, environment = {}, ...others } = options;
  const { subject, folder } = await reportSubject(word, cwd, others);
  const file = writeReports(folder, subject, ['html']).html as string;
  if (!isOpening) return { file, isOpened: false };
  const { openPage } = await import('../execute/host/open-page.ts');
  return { file, isOpened: await openPage(file, environment) };
}

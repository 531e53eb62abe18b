import { homeFrom } from '../evidence/run-folder/runs.ts';
import { writtenMatrix } from './written-matrix.ts';
import type { RunSuiteOptions } from './run-suite.ts';
import { damageWarning, reportSubject, type ReportOptions, writeReports } from './report.ts';
import { pageWarning, runPageOf, writePage } from './run-pages.ts';

export interface ViewOptions extends Pick<ReportOptions, 'signingKey' | 'signal'> {
  /** Opens the report in a browser. */
  readonly isOpening: boolean;
  readonly environment?: RunSuiteOptions['environment'];
  readonly cwd?: string;
}

/**
 * Writes the page of a run or comparison, or finds the page of a matrix. Opens it in a browser if this machine has a
 * desktop.
 */
export async function viewReport(word: string, options: ViewOptions) {
  const { cwd = process.cwd(), isOpening, environment = {}, ...others } = options;
  const { file, warning } = await writtenPage(word, cwd, others);
  if (!isOpening) return { file, warning, isOpened: false };
  const { openPage } = await import('../execute/host/open-page.ts');
  return { file, warning, isOpened: await openPage(file, environment) };
}

interface Written {
  readonly file: string;
  /** A sentence about changed files. */
  readonly warning?: string;
}

async function writtenPage(word: string, cwd: string, options: ReportOptions): Promise<Written> {
  const matrix = writtenMatrix(word, homeFrom(cwd), cwd);
  if (matrix !== undefined) return { file: matrix };
  const small = await runPageOf(word, cwd, options);
  if (small) return withWarning(writePage(small.folder, small.page), pageWarning(small.page));
  const { subject, folder } = await reportSubject(word, cwd, options);
  return withWarning(writeReports(folder, subject, ['html']).html as string, damageWarning(subject));
}

function withWarning(file: string, warning: string | undefined): Written {
  return { file, ...(warning !== undefined && { warning }) };
}

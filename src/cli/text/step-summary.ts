import { appendFileSync } from 'node:fs';
import { reportOf, type Subject } from '../../verbs/report.ts';
import { stderr } from './out.ts';

/** Adds a report to the file that GitHub shows on the page of the job. */
export function addStepSummary(subject: Subject): void {
  const { GITHUB_STEP_SUMMARY: file } = process.env;
  if (!file) return;
  const { pieces } = reportOf(subject, 'md');
  try {
    appendFileSync(file, [...pieces].join(''));
  } catch {
    stderr.write('warning: Cannot write the GitHub step summary.\n');
  }
}

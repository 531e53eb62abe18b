import { appendFileSync } from 'node:fs';
import { reportOf, type Subject } from '../../verbs/report.ts';
import { stderr } from './out.ts';

/** Adds a report to the file that GitHub shows on the page of the job. */
export function addStepSummary(subject: Subject): void {
  addToStepSummary(() => [...reportOf(subject, 'md').pieces].join(''));
}

export function addToStepSummary(markdown: () => string): void {
  const { GITHUB_STEP_SUMMARY: file } = process.env;
  if (!file) return;
  const text = markdown();
  try {
    appendFileSync(file, text);
  } catch {
    stderr.write('warning: Cannot write the GitHub step summary.\n');
  }
}

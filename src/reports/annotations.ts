import { clip } from '../base/clip.ts';
import { counted } from '../base/counted.ts';
import { printable } from '../base/printable.ts';
import { type ReportRemark, type ReportRemarks, remarksOfComparison, remarksOfRun } from './remarks.ts';
import type { CasePlaces, Report } from './report.ts';

/** Workflow commands of GitHub Actions, which show each problem at the line of its case. */
export const annotations: Report = {
  file: 'annotations.txt',
  ofComparison: (comparison, places) => commands(remarksOfComparison(comparison), places),
  ofRun: (run, places) => commands(remarksOfRun(run), places),
};

function* commands({ remarks, verdict }: ReportRemarks, places: CasePlaces | undefined): Generator<string> {
  let left = 0;
  for (const level of ['error', 'warning'] as const) {
    const told = remarks.filter(remark => remark.level === level);
    for (const remark of told.slice(0, PER_LEVEL_MAX)) yield remarkCommand(remark, places);
    left += Math.max(0, told.length - PER_LEVEL_MAX);
  }
  // The verdict is an error only if no other line says why the pipeline stops.
  const isTold = remarks.some(({ level }) => level === verdict.level);
  const more = left === 0 ? '' : ` ${counted(left, 'more problem')} in the report.`;
  yield command(isTold ? 'notice' : verdict.level, placeOf(undefined, places), {
    title: `Proctor: ${verdict.title}`,
    message: `${verdict.message}${more}`,
  });
}

/** GitHub shows at most ten of each level per step. */
const PER_LEVEL_MAX = 10;

function remarkCommand({ level, caseId, title, message }: ReportRemark, places: CasePlaces | undefined): string {
  return command(level, placeOf(caseId, places), { title, message });
}

function placeOf(caseId: string | undefined, places: CasePlaces | undefined): string[] {
  if (!places) return [];
  const line = caseId === undefined ? undefined : places.lineOf(caseId);
  return [`file=${property(places.file)}`, ...(line === undefined ? [] : [`line=${line}`])];
}

function command(
  level: ReportRemark['level'] | 'notice',
  place: readonly string[],
  { title, message }: { readonly title: string; readonly message: string },
): string {
  const properties = [...place, `title=${property(shortened(title, TITLE_BYTES_MAX))}`];
  return `::${level} ${properties.join(',')}::${data(message)}\n`;
}

const TITLE_BYTES_MAX = 200;
const MESSAGE_BYTES_MAX = 2_000;

/** Line feeds are Proctor's own. Everything else that could end the line is escaped twice. */
function data(message: string): string {
  const lines = clip(message, MESSAGE_BYTES_MAX).text.split('\n');
  return escaped(lines.map(printable).join('\n'));
}

function property(text: string): string {
  return escaped(printable(text)).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

function escaped(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function shortened(text: string, bytesMax: number): string {
  const { text: head, truncated } = clip(text, bytesMax);
  return truncated ? `${head}…` : head;
}

import path from 'node:path';
import { printable, printableJson } from '../../base/printable.ts';
import type { ComparedVersions } from '../../verbs/compare-versions.ts';
import { matrixMarkdown, matrixText } from '../../verbs/matrix-text.ts';
import { judgementJson, judgementLine } from './judgement-text.ts';
import { stderr, stdout } from './out.ts';
import { paintFor } from './paint.ts';
import { addToStepSummary } from './step-summary.ts';

/** Prints a comparison of several versions. `more` joins the JSON. */
export function printMatrix({ matrix, files, judgements }: ComparedVersions, json: boolean, more: object = {}): void {
  const written = Object.entries(files).map(([format, file]) => [format, path.relative(process.cwd(), file)] as const);
  if (json) {
    const { cases: _, ...summary } = matrix;
    const made = { reports: Object.fromEntries(written), judgements: judgements.map(judgementJson), ...more };
    stdout.write(`${printableJson({ ...made, ...summary })}\n`);
  } else {
    stdout.write(judgementLine(judgements, paintFor(1)));
    for (const [, file] of written) stderr.write(`  report  ${printable(file)}\n`);
    stdout.write(matrixText(matrix, paintFor(1)));
  }
  addToStepSummary(() => matrixMarkdown(matrix));
}

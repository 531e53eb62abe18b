import type { Matrix } from '../contracts/matrix.ts';
import type { PaintText } from '../reports/index.ts';
import { matrixTerminal } from '../reports/matrix-terminal.ts';

export type { MatrixFormat } from '../reports/matrix.ts';
export { matrixMarkdown } from '../reports/matrix-markdown.ts';

/** A matrix for terminals. */
export function matrixText(matrix: Matrix, paint: PaintText): string {
  return [...matrixTerminal(matrix, paint)].join('');
}

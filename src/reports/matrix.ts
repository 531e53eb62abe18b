import { canonicalPieces } from '../base/canonical.ts';
import type { Matrix } from '../contracts/matrix.ts';
import { matrixMarkdown } from './matrix-markdown.ts';
import { htmlPage } from './pages/html-page.ts';
import { matrixPage, type PairReport } from './pages/matrix-page.ts';

interface MatrixReport {
  readonly file: string;
  readonly pieces: Iterable<string>;
}

export type MatrixFormat = 'html' | 'md' | 'json';

/** The formats of a matrix. */
export const matrixReports: Readonly<
  Record<MatrixFormat, (matrix: Matrix, links: readonly PairReport[]) => MatrixReport>
> = {
  html: (matrix, links) => ({ file: 'report.html', pieces: htmlPage(matrixPage(matrix, links)) }),
  md: matrix => ({ file: 'report.md', pieces: [matrixMarkdown(matrix)] }),
  json: matrix => ({ file: 'report.json', pieces: jsonPieces(matrix) }),
};

function* jsonPieces(matrix: Matrix): Generator<string> {
  yield* canonicalPieces(matrix);
  yield '\n';
}

import type { PageHead, PageRow } from '../page-data.ts';

/** A case that fails or needs attention in another way. */
export const isUrgent = ([, , kind, , , , , , , , , why]: PageRow): boolean =>
  why !== 0 || (kind !== 'same' && kind !== 'pass');

/** The latencies and costs of each side, ascending. */
export interface RowSeries {
  readonly latency: readonly [baseline: Float64Array, candidate: Float64Array];
  readonly cost: readonly [baseline: Float64Array, candidate: Float64Array];
}

export function rowSeries(rows: readonly PageRow[], kind: PageHead['kind']): RowSeries {
  // Skips cases measured on one side only; they would distort the comparison.
  const isPaired = (row: PageRow, at: 7 | 9): boolean => kind === 'run' || (row[at] !== null && row[at + 1] !== null);
  const values = (pair: 7 | 9, at: 7 | 8 | 9 | 10): Float64Array =>
    Float64Array.from(rows.flatMap(row => (isPaired(row, pair) ? (row[at] ?? []) : []))).sort();
  return { latency: [values(7, 7), values(7, 8)], cost: [values(9, 9), values(9, 10)] };
}

import { Fault } from '../../base/fault.ts';

/** Where a page starts: after the last row of the page before. A row that is gone could only be guessed. */
export function indexAfter<Row>(
  after: string | undefined,
  rows: readonly Row[],
  isLast: (row: Row) => boolean,
): number {
  if (after === undefined) return 0;
  const at = rows.findIndex(isLast);
  if (at >= 0) return at + 1;
  throw new Fault('page_gone', 'The last entry of the page before no longer exists. Start again at the first page.');
}

import type { LedgerLine } from './shape.ts';

/** The unique name of a run in a ledger; for a suite it includes the side. */
export function ledgerName({ run_id, version }: Pick<LedgerLine, 'run_id' | 'version'>): string {
  return version === undefined ? run_id : `${version}/${run_id}`;
}

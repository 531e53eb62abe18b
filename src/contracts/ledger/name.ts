import type { LedgerLine } from './shape.ts';

/** What a ledger knows a run by: its name, and of a suite its side, too. */
export function ledgerName({ run_id, version }: Pick<LedgerLine, 'run_id' | 'version'>): string {
  return version === undefined ? run_id : `${version}/${run_id}`;
}

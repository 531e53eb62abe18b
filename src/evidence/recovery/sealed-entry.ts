import type { LedgerEntry } from '../ledger/ledger.ts';
import { intentIn } from '../ledger/ledger-intent.ts';
import { sealOf } from '../pack/pack.ts';
import { readRun } from '../suite/suite-folder.ts';

/** Builds the ledger entry of a sealed folder; undefined if its seal cannot be read. */
export function sealedEntry(folder: string): LedgerEntry | undefined {
  const opened = sealOf(folder);
  if (!opened) return undefined;
  const { run_id, kind, sealed_at } = opened.statement.predicate;
  const intent = kind === 'intent' ? intentIn(folder) : null;
  if (intent === undefined) return undefined;
  const version = kind === 'suite' ? readRun(folder)?.version : undefined;
  return { run_id, kind, sealed_at, seal_sha256: opened.sha256, intent, ...(version && { version }) };
}

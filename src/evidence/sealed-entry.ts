import type { LedgerEntry } from './ledger.ts';
import { intentIn } from './ledger-intent.ts';
import { sealOf } from './pack.ts';
import { readRun } from './suite-folder.ts';

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

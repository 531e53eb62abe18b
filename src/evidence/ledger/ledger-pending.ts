import { existsSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../../base/atomic.ts';
import { canonicalize } from '../../base/canonical.ts';
import { bytesHash } from '../../base/hash.ts';
import { readJson } from '../../base/json.ts';
import { ownFolder } from '../../base/own-folder.ts';
import { isMineAlone } from '../../base/owner.ts';
import { readRegular } from '../../base/regular.ts';
import { stateFolder } from '../../base/state-folder.ts';
import { ledgerLine, ledgerName } from '../../contracts/ledger/index.ts';
import type { LedgerEntry } from './ledger.ts';
import { keepsContract } from '../document.ts';

/** A sealed run that has no ledger line yet. */
export interface Pending {
  readonly entry: LedgerEntry;
  readonly file: string;
}

/**
 * Stores a run whose ledger line could not be written. It is stored outside the home, because a checkout can contain
 * anything.
 */
export function keepPending(home: string, entry: LedgerEntry): void {
  const folder = ownFolder(nameFor(home));
  writeAtomic(path.join(folder, `${bytesHash(ledgerName(entry)).slice(-16)}.json`), canonicalize(entry));
}

/** A home's pending runs, ordered by seal time. */
export function pendingOf(home: string): Pending[] {
  let folder: string;
  let names: string[];
  try {
    const name = nameFor(home);
    if (!existsSync(path.join(stateFolder(), name))) return [];
    folder = ownFolder(name);
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names
    .slice(0, PENDING_MAX)
    .flatMap(name => pendingIn(path.join(folder, name)))
    .sort((a, b) => Date.parse(a.entry.sealed_at) - Date.parse(b.entry.sealed_at));
}

export function forgetPending(pending: readonly Pending[]): void {
  for (const { file } of pending) rmSync(file, { force: true });
}

/** Later calls return the rest. */
const PENDING_MAX = 1_000;

/** A home that was deleted and created again has a new inode, so it gets a new folder. */
function nameFor(home: string): string {
  const hash = bytesHash(`${realpathSync(home)}\0${statSync(home).ino}`);
  return path.join('ledger-pending', hash.slice(-16));
}

function pendingIn(file: string): Pending[] {
  const bytes = readRegular(file, ledgerLine.bytesMax, isMineAlone);
  const reading = bytes && readJson(bytes, { bytesMax: ledgerLine.bytesMax });
  if (!reading?.ok) return [];
  const entry = reading.value as LedgerEntry;
  const line = { ...entry, schema_version: 'ledger-line.v1', sequence: 1, previous_sha256: null };
  return keepsContract(line, ledgerLine) ? [{ entry, file }] : [];
}

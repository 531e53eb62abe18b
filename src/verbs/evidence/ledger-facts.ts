import { existsSync } from 'node:fs';
import path from 'node:path';
import { readJson } from '../../base/json.ts';
import { type LedgerLine, ledgerLine } from '../../contracts/ledger/index.ts';
import { LEDGER } from '../../evidence/ledger/ledger.ts';
import { lineIn } from '../../evidence/recovery/ledger-line.ts';
import { sealedEntry } from '../../evidence/recovery/sealed-entry.ts';
import { verify } from '../../verify/index.ts';
import type { LedgerFacts } from './evidence-view.ts';

/** What the ledger of a home says about one of its runs, and whether the chain of its lines holds. */
export async function ledgerFacts({
  home,
  folder,
}: {
  readonly home: string;
  readonly folder: string;
}): Promise<LedgerFacts> {
  const file = path.join(home, LEDGER);
  if (!existsSync(file)) return { state: 'no_ledger', sequence: null, lines: null, chain_holds: null, troubles: [] };
  return { ...lineFacts(home, folder), ...(await chainFacts(file)) };
}

function lineFacts(home: string, folder: string): Pick<LedgerFacts, 'state' | 'sequence'> {
  const entry = sealedEntry(folder);
  const text = entry && lineIn(home, entry);
  const reading = text === undefined ? undefined : readJson(Buffer.from(text), { bytesMax: ledgerLine.bytesMax });
  if (!reading?.ok || !entry) return { state: 'missing', sequence: null };
  const { sequence, seal_sha256 } = reading.value as Partial<LedgerLine>;
  return {
    state: seal_sha256 === entry.seal_sha256 ? 'recorded' : 'differs',
    sequence: Number.isSafeInteger(sequence) ? (sequence as number) : null,
  };
}

async function chainFacts(file: string): Promise<Pick<LedgerFacts, 'lines' | 'chain_holds' | 'troubles'>> {
  const troubles: LedgerFacts['troubles'] = [];
  let lines = 0;
  let holds = true;
  for await (const { input, within, outcome, violations, reason } of verify([file])) {
    if (within !== undefined) lines++;
    if (outcome === 'valid') continue;
    holds = false;
    const line = input.slice(file.length + 1);
    const found = reason ? [{ rule_id: reason.code, message: reason.message }] : violations;
    for (const { rule_id, message } of found)
      if (troubles.length < TROUBLES_MAX) troubles.push({ line, rule_id, message });
  }
  return { lines, chain_holds: holds, troubles };
}

const TROUBLES_MAX = 20;

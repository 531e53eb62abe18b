import { closeSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { readJson } from '../../base/json.ts';
import { linesOf } from '../../base/lines.ts';
import { openRegular } from '../../base/regular.ts';
import { type LedgerLine, ledgerLine } from '../../contracts/ledger/index.ts';
import { LEDGER } from '../ledger/ledger.ts';
import { sealedEntry } from './sealed-entry.ts';

/** A run's ledger line, with its line feed; undefined if its home has none. */
export function ledgerLineOf(folder: string): string | undefined {
  const home = homeAround(folder);
  const entry = home === undefined ? undefined : sealedEntry(folder);
  return home === undefined || !entry ? undefined : lineIn(home, entry);
}

/** The same for a run in a known home. */
export function lineIn(home: string, run: Pick<LedgerLine, 'run_id' | 'version'>): string | undefined {
  const fd = openRegular(path.join(home, LEDGER));
  if (fd === undefined) return undefined;
  try {
    for (const { bytes } of linesOf(fd, ledgerLine.bytesMax)) {
      // Skip lines of other runs without parsing them.
      if (!bytes?.includes(run.run_id)) continue;
      const reading = readJson(bytes, { bytesMax: ledgerLine.bytesMax });
      if (reading.ok && isLineOf(reading.value ?? {}, run)) return `${bytes.toString()}\n`;
    }
    return undefined;
  } finally {
    closeSync(fd);
  }
}

/** Whether a line records a run. Older lines do not state a side and match either one. */
export function isLineOf(line: Partial<LedgerLine>, run: Pick<LedgerLine, 'run_id' | 'version'>): boolean {
  const isOfItsSide = line.version === undefined || run.version === undefined || line.version === run.version;
  return line.run_id === run.run_id && isOfItsSide;
}

/** The folder that contains `runs/<lane>/<run>`. */
export function homeAround(folder: string): string | undefined {
  try {
    const runs = path.dirname(path.dirname(realpathSync(folder)));
    return path.basename(runs) === 'runs' ? path.dirname(runs) : undefined;
  } catch {
    return undefined;
  }
}

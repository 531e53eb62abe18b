import { closeSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { readJson } from '../base/json.ts';
import { linesOf } from '../base/lines.ts';
import { openRegular } from '../base/regular.ts';
import { ledgerLine } from '../contracts/ledger/index.ts';
import { LEDGER } from './ledger.ts';

/** The line of a run in the ledger of the home that its folder lies in, with its line feed; undefined if it has none. */
export function ledgerLineOf(folder: string, runId: string): string | undefined {
  const home = homeAround(folder);
  return home === undefined ? undefined : lineIn(home, runId);
}

/** The same, of a home that is known. */
export function lineIn(home: string, runId: string): string | undefined {
  const fd = openRegular(path.join(home, LEDGER));
  if (fd === undefined) return undefined;
  try {
    for (const { bytes } of linesOf(fd, ledgerLine.bytesMax)) {
      // Most lines are of other runs, and need not be read.
      if (!bytes?.includes(runId)) continue;
      const reading = readJson(bytes, { bytesMax: ledgerLine.bytesMax });
      const isMeant = reading.ok && (reading.value as { run_id?: unknown } | null)?.run_id === runId;
      if (isMeant) return `${bytes.toString()}\n`;
    }
    return undefined;
  } finally {
    closeSync(fd);
  }
}

/** The folder that holds `runs/<lane>/<run>`. */
export function homeAround(folder: string): string | undefined {
  try {
    const runs = path.dirname(path.dirname(realpathSync(folder)));
    return path.basename(runs) === 'runs' ? path.dirname(runs) : undefined;
  } catch {
    return undefined;
  }
}

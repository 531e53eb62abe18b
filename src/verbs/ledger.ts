import { existsSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { ledgerName } from '../contracts/ledger/name.ts';
import { lineIn } from '../evidence/recovery/ledger-line.ts';
import { forgetPending, keepPending, pendingOf } from '../evidence/ledger/ledger-pending.ts';
import { appendLines, type LedgerEntry, type Ledger, LEDGER, REPAIRS } from '../evidence/ledger/ledger.ts';
import { runsIn } from '../evidence/run-folder/runs.ts';
import { takeLock } from '../execute/host/locks.ts';
import type { Recovered } from './recover.ts';

/** The ledger of a project. A run sealed just now can only be at its end; an older run can be anywhere in it. */
export function ledgerOf(
  home: string,
  onWarning?: (sentence: string) => void,
  search: 'its end' | 'all of it' = 'its end',
): Ledger {
  return {
    async enter(entry) {
      try {
        const name = ledgerName(entry);
        const pending = pendingOf(home).filter(waiting => ledgerName(waiting.entry) !== name);
        const entries = [...pending.map(waiting => waiting.entry), entry];
        const { added } = await appendLines(home, entries, takeLock, pending.length > 0 ? 'all of it' : search);
        forgetPending(pending);
        if (added.includes(name)) return;
        if (lineIn(home, entry)?.includes(entry.seal_sha256)) return;
        onWarning?.(
          `${MISSING}: ${entry.run_id} is sealed, but has no ledger line, because another run had the same name.`,
        );
      } catch (error) {
        const why = error instanceof Fault ? error.message : 'Cannot write the ledger.';
        const later = keepForLater(home, entry);
        onWarning?.(`${MISSING}: ${entry.run_id} is sealed, but its ledger line is missing. ${why} ${later}`);
      }
    },
  };
}

/** Rejects a run name that the same side already used. The ledger identifies a run by name and side. */
export function refuseTaken(home: string, ids: readonly string[], version: 'baseline' | 'new'): void {
  const isOfOtherSide = (lane: string): boolean => lane !== version && (lane === 'baseline' || lane === 'new');
  const here = new Set(runsIn(home).flatMap(({ id, lane }) => (isOfOtherSide(lane) ? [] : [id])));
  for (const id of ids) {
    if (here.has(id)) throw new Fault('run_exists', `A run named ${id} exists. Use another name.`);
    if (lineIn(home, { run_id: id, version }) === undefined) continue;
    throw new Fault('run_exists', `The ledger already has a run named ${id}. Use another name.`);
  }
}

/** The code of the warning. */
const MISSING = 'ledger_line_missing';

/** Notes that a line is missing, and returns a sentence that says when it will be written. */
function keepForLater(home: string, entry: LedgerEntry): string {
  try {
    keepPending(home, entry);
    return 'The next run adds it, or run proctor recover.';
  } catch {
    return 'It cannot be added later, because your state folder is not usable.';
  }
}

/**
 * Adds the missing ledger lines of runs that were sealed here, in order, and cuts off an incomplete last line. A sealed
 * folder alone gets no line, because a checkout can contain one.
 */
export async function completeLedger(home: string): Promise<Recovered[]> {
  if (!existsSync(home)) return [];
  try {
    const pending = pendingOf(home);
    const entries = pending.map(({ entry }) => entry);
    // If there is nothing to do, create nothing in a checkout, not even a lock.
    if (entries.length === 0 && !existsSync(path.join(home, LEDGER))) return [];
    const { added, isRepaired } = await appendLines(home, entries, takeLock, 'all of it');
    forgetPending(pending);
    const torn = `moved its incomplete last line to ${REPAIRS}`;
    return [
      ...(isRepaired ? [{ id: LEDGER, became: 'repaired', why: torn } as const] : []),
      ...added.map(id => ({ id, became: 'entered' }) as const),
    ];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [{ id: LEDGER, became: 'odd', why: error.message }];
  }
}

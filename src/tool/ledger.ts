import { existsSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { ledgerName } from '../contracts/ledger/name.ts';
import { lineIn } from '../evidence/ledger-line.ts';
import { forgetPending, keepPending, pendingOf } from '../evidence/ledger-pending.ts';
import { appendLines, type Entry, type Ledger, LEDGER, REPAIRS } from '../evidence/ledger.ts';
import { listRuns } from '../evidence/runs.ts';
import { takeLock } from '../execute/locks.ts';
import type { Recovered } from './recover.ts';

/** The ledger of a home, for a run that is sealed now. One that was sealed before may stand anywhere in it. */
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
        onWarning?.(`${MISSING}: ${entry.run_id} is sealed, but gets no line in the ledger: another run had its name.`);
      } catch (error) {
        const why = error instanceof Fault ? error.message : 'The ledger could not be written.';
        const later = keepForLater(home, entry);
        onWarning?.(`${MISSING}: ${entry.run_id} is sealed, but its line in the ledger is missing. ${why} ${later}`);
      }
    },
  };
}

/**
 * A name that a person gave a run of this home is one that no other run has or had, but for one of the other side: the
 * ledger knows each by its name and side.
 */
export function refuseTaken(home: string, ids: readonly string[], version: 'baseline' | 'new'): void {
  const isOfOtherSide = (lane: string): boolean => lane !== version && (lane === 'baseline' || lane === 'new');
  const here = new Set(listRuns(home).flatMap(({ id, lane }) => (isOfOtherSide(lane) ? [] : [id])));
  for (const id of ids) {
    if (here.has(id)) throw new Fault('run_exists', `There is a run called ${id} already. Give this one another name.`);
    if (lineIn(home, { run_id: id, version }) === undefined) continue;
    throw new Fault(
      'run_exists',
      `There was a run called ${id}, which stands in the ledger. Give this one another name.`,
    );
  }
}

/** The code of the warning. */
const MISSING = 'ledger_line_missing';

/** Notes that a line is missing, and says who will write it. */
function keepForLater(home: string, entry: Entry): string {
  try {
    keepPending(home, entry);
    return 'The next run here adds it, or proctor recover.';
  } catch {
    return 'The line cannot be added later, because your state folder cannot be used.';
  }
}

/**
 * Gives the runs of a home that were sealed here their missing lines, in the order in which they were sealed, and cuts off
 * a line that was torn. A sealed folder is no reason for a line: a checkout may hold one.
 */
export async function completeLedger(home: string): Promise<Recovered[]> {
  if (!existsSync(home)) return [];
  try {
    const pending = pendingOf(home);
    const entries = pending.map(({ entry }) => entry);
    // Even a lock is not left in a checkout for which there is nothing to do.
    if (entries.length === 0 && !existsSync(path.join(home, LEDGER))) return [];
    const { added, isRepaired } = await appendLines(home, entries, takeLock, 'all of it');
    forgetPending(pending);
    const torn = `what was left of its last line stands in ${REPAIRS} now`;
    return [
      ...(isRepaired ? [{ id: LEDGER, became: 'repaired', why: torn } as const] : []),
      ...added.map(id => ({ id, became: 'entered' }) as const),
    ];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [{ id: LEDGER, became: 'odd', why: error.message }];
  }
}

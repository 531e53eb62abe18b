import { existsSync } from 'node:fs';
import { Fault } from '../base/fault.ts';
import type { Entry, Ledger } from '../evidence/ledger.ts';
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
        const [{ appendLines }, { holdName }] = await roomsOf();
        await appendLines(home, [entry], holdName, search);
      } catch (error) {
        const why = error instanceof Fault ? error.message : 'The ledger could not be written.';
        onWarning?.(`${entry.run_id} is sealed and whole, but has no line in the ledger. ${why} ${LATER}`);
      }
    },
  };
}

const LATER = 'proctor recover adds the lines of runs that lie in .proctor.';

const roomsOf = () => Promise.all([import('../evidence/ledger.ts'), import('../execute/slots.ts')]);

/** Gives every sealed run of a home its line, in the order in which they were sealed, and cuts off one that was torn. */
export async function completeLedger(home: string): Promise<Recovered[]> {
  if (!existsSync(home)) return [];
  const [{ appendLines, LEDGER, REPAIRS }, { holdName }] = await roomsOf();
  try {
    const { added, isRepaired } = await appendLines(home, await sealedIn(home), holdName, 'all of it');
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

/** Runs that are finished. Those that still have their journal get their line when it is taken away. */
async function sealedIn(home: string): Promise<Entry[]> {
  const [{ hasJournal }, { sealedEntry }, { listRuns }] = await Promise.all([
    import('../evidence/recover.ts'),
    import('../evidence/sealed-entry.ts'),
    import('../evidence/runs.ts'),
  ]);
  const entries = new Map<string, Entry>();
  for (const { folder } of listRuns(home)) {
    const entry = hasJournal(folder) ? undefined : sealedEntry(folder);
    if (entry) entries.set(entry.run_id, entry);
  }
  return [...entries.values()].sort((a, b) => Date.parse(a.sealed_at) - Date.parse(b.sealed_at));
}

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
        const { added } = await appendLines(home, [entry], holdName, search);
        if (added.length > 0) return;
        const { lineIn } = await import('../evidence/ledger-line.ts');
        if (lineIn(home, entry.run_id)?.includes(entry.seal_sha256)) return;
        onWarning?.(`${entry.run_id} is sealed and whole, but has no line in the ledger: another run had its name.`);
      } catch (error) {
        const why = error instanceof Fault ? error.message : 'The ledger could not be written.';
        onWarning?.(`${entry.run_id} is sealed and whole, but has no line in the ledger. ${why} ${LATER}`);
      }
    },
  };
}

/** A name that a person gave a run of this home is one that no other run has or had: the ledger knows each by its name. */
export async function refuseTaken(home: string, ids: readonly string[]): Promise<void> {
  const [{ lineIn }, { listRuns }] = await Promise.all([
    import('../evidence/ledger-line.ts'),
    import('../evidence/runs.ts'),
  ]);
  const here = new Set(listRuns(home).map(({ id }) => id));
  for (const id of ids) {
    if (here.has(id)) throw new Fault('run_exists', `There is a run called ${id} already. Give this one another name.`);
    if (lineIn(home, id) === undefined) continue;
    throw new Fault(
      'run_exists',
      `There was a run called ${id}, which stands in the ledger. Give this one another name.`,
    );
  }
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

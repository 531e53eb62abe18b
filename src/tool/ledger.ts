import { existsSync } from 'node:fs';
import { Fault } from '../base/fault.ts';
import { hasMark, leaveMark, removeMark } from '../base/state-key.ts';
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
        const then = leaveMark(markOf(entry)) ? LATER : NEVER;
        onWarning?.(`${entry.run_id} is sealed and whole, but has no line in the ledger. ${why} ${then}`);
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

const LATER = 'proctor recover adds the line.';
const NEVER = 'The line cannot be added later, because your state folder cannot be used.';

/** What says outside of the project that a run was sealed here and still needs its line. */
function markOf({ seal_sha256 }: Entry): string {
  return seal_sha256.slice('sha256:'.length);
}

const roomsOf = () => Promise.all([import('../evidence/ledger.ts'), import('../execute/slots.ts')]);

/**
 * Gives the runs of a home that were sealed here their missing lines, in the order in which they were sealed, and cuts off
 * a line that was torn. A sealed folder alone is no reason for a line: a checkout may hold one.
 */
export async function completeLedger(home: string): Promise<Recovered[]> {
  if (!existsSync(home)) return [];
  const [{ appendLines, LEDGER, REPAIRS }, { holdName }] = await roomsOf();
  try {
    const entries = (await sealedIn(home)).filter(entry => hasMark(markOf(entry)));
    const { added, isRepaired } = await appendLines(home, entries, holdName, 'all of it');
    for (const entry of entries) removeMark(markOf(entry));
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

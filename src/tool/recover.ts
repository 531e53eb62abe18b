import { systemClock } from '../base/clock.ts';
import type { OpenRun } from '../evidence/recover.ts';
import type { RunPlace } from '../evidence/runs.ts';
import type { Leftovers } from '../execute/job.ts';

/** What became of a run that was met with its journal still there. */
export interface Recovered {
  readonly id: string;
  readonly became: 'recovered' | 'sealed' | 'removed' | 'alive';
}

/** Completes every dead run of this place, and takes away what dead ones have left on this machine. */
export async function recover(cwd: string): Promise<Recovered[]> {
  const { homeFrom, listRuns } = await import('../evidence/runs.ts');
  const recovered: Recovered[] = [];
  for (const place of listRuns(homeFrom(cwd))) {
    const one = await recoverIfDead(place);
    if (one) recovered.push(one);
  }
  const { removeAbandoned } = await import('../execute/abandoned.ts');
  await removeAbandoned();
  return recovered;
}

/** Completes a run if it is dead. One that is finished is left as it is, and one that is alive, too. */
export async function recoverIfDead(place: RunPlace): Promise<Recovered | undefined> {
  const { hasJournal, openRun, recoverRun } = await import('../evidence/recover.ts');
  if (!hasJournal(place.folder)) return undefined;
  const { holdName } = await import('../execute/slots.ts');
  // Two that recover the same run would write over each other.
  const lock = await holdName(`recover-${place.id}`);
  if (!lock) return { id: place.id, became: 'alive' };
  try {
    if (!hasJournal(place.folder)) return undefined;
    const run = openRun(place.folder);
    if (await isAlive(run)) return { id: place.id, became: 'alive' };
    const { sweep } = await import('../execute/sweep.ts');
    if (run.leftovers) await sweep(run.leftovers as Leftovers);
    return { id: place.id, became: await recoverRun(place.folder, systemClock.now()) };
  } finally {
    lock.close();
  }
}

/** Whether a run is under way. */
export async function isRunning({ folder }: RunPlace): Promise<boolean> {
  const { hasJournal, openRun } = await import('../evidence/recover.ts');
  return hasJournal(folder) && (await isAlive(openRun(folder)));
}

async function isAlive({ plan }: OpenRun): Promise<boolean> {
  if (!plan) return false;
  const [{ bootId }, { startTicksOf }] = await Promise.all([
    import('../execute/machine.ts'),
    import('../execute/processes.ts'),
  ]);
  return plan.owner.bootId === bootId() && startTicksOf(plan.owner.pid) === plan.owner.startTicks;
}

import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../base/fault.ts';
import { looseKeys } from '../evidence/document.ts';
import { hasJournal, openRun } from '../evidence/recovery/recover.ts';
import type { RunFolder } from '../evidence/run-folder/runs.ts';
import { interruptCommand, type ProcessName } from '../execute/host/interrupt.ts';
import { isOwnerAlive, lifeOf, openSuiteIn } from './recover.ts';

/** `ended`: the run had ended before it could be cancelled. */
export type Cancelled = 'cancelled' | 'ended';

/**
 * Stops a running run, and waits until it has stopped. A suite can then be resumed; other runs are sealed. Only the
 * process that the run's journal proves to be its owner gets a signal.
 */
export async function cancelRun(place: RunFolder, waitMs: number = WAIT_MS): Promise<Cancelled> {
  const life = lifeOf(place);
  if (life === 'foreign')
    throw new Fault('not_started_here', 'You did not start this run on this machine, so Proctor cannot cancel it.');
  if (life === 'unknown')
    throw new Fault('odd_journal', "Cannot cancel the run: Proctor cannot read the run's journal.");
  const owner = life === 'alive' ? ownerOf(place) : undefined;
  if (!owner) return 'ended';
  const own = owner.pid === process.pid ? CONTROLLERS.get(place.id) : undefined;
  own?.abort();
  const sent = own ? 'sent' : interruptCommand(owner);
  if (sent === 'other' || (owner.pid === process.pid && !own)) throw new Fault('not_cancellable', OTHER);
  const isRunning = (): boolean => (own ? CONTROLLERS.get(place.id) === own : isAliveIn(place, owner));
  for (let waitedMs = 0; isRunning(); waitedMs += LOOK_MS) {
    if (waitedMs >= waitMs) throw new Fault('still_running', STILL);
    await wait(LOOK_MS);
  }
  return wasCancelled(place) ? 'cancelled' : 'ended';
}

/** Makes a run of this process cancellable. Call the returned function when the run has ended. */
export function registerRun(id: string, controller: AbortController): () => void {
  CONTROLLERS.set(id, controller);
  return () => {
    if (CONTROLLERS.get(id) === controller) CONTROLLERS.delete(id);
  };
}

/** The runs of this process, by id. */
const CONTROLLERS = new Map<string, AbortController>();

function ownerOf({ folder }: RunFolder): ProcessName | undefined {
  const suite = openSuiteIn(folder);
  return suite ? (suite.plan?.owner ?? suite.layer) : openRun(folder).plan?.owner;
}

function isAliveIn({ folder }: RunFolder, owner: ProcessName): boolean {
  return hasJournal(folder) && isOwnerAlive({ plan: { owner } });
}

/** An interrupted suite stays open. The evidence of other runs says that they were cancelled. */
function wasCancelled(place: RunFolder): boolean {
  if (lifeOf(place) !== 'finished') return true;
  const outcome = looseKeys(path.join(place.folder, 'evidence/outcome.json'), OUTCOME_BYTES_MAX);
  const { by } = (outcome['ending'] ?? {}) as { by?: unknown };
  return by === 'cancel' || outcome['reason'] === 'cancelled';
}

const OTHER =
  'The run belongs to another program, such as a server. Cancel it there, because a signal would stop the whole program.';
const STILL = 'The run was told to stop, but is still running. Wait, then look at it with proctor show.';
const WAIT_MS = 60_000;
const LOOK_MS = 50;
const OUTCOME_BYTES_MAX = 16 * 1024 * 1024;

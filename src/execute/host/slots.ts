import { availableParallelism } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../../base/fault.ts';
import { random } from '../../base/ids.ts';
import { type Lock, takeOwnLock } from './locks.ts';
import { bootId } from './machine.ts';

/** How many programs one user can run at once on this machine. */
export const SLOTS = Math.max(4, 2 * availableParallelism());

/**
 * Waits for a slot. Each slot is a per-user lock that is released when its holder dies. If the state folder is
 * unusable, the number of concurrent runs is not limited.
 */
export async function takeSlot({ onWait, signal }: Waiting = {}): Promise<() => void> {
  for (let waitedMs = 0; waitedMs < WAIT_MS; ) {
    if (signal?.aborted) throw new Fault('cancelled', 'The run was cancelled before it started.');
    for (let tried = 0, no = Math.floor(random() * SLOTS); tried < SLOTS; tried++, no = (no + 1) % SLOTS) {
      const lock = slotLock(no);
      if (lock) return () => lock.close();
    }
    if (waitedMs === 0) onWait?.();
    const pauseMs = 10 + 40 * random();
    await wait(pauseMs);
    waitedMs += pauseMs;
  }
  throw new Fault('busy', 'No slot became free within an hour. Try again later.');
}

/** Machines may share a home folder, but not slots. */
const SLOT = `slot-${bootId().slice(0, 8)}`;

const WAIT_MS = 60 * 60 * 1000;

export interface Waiting {
  /** Called once, when all slots are taken. */
  readonly onWait?: () => void;
  readonly signal?: AbortSignal;
}

function slotLock(no: number): Lock | undefined {
  try {
    return takeOwnLock(`${SLOT}-${no}`);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { close: () => undefined };
  }
}

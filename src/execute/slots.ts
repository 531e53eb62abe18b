import { availableParallelism } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../base/fault.ts';
import { chance } from '../base/ids.ts';
import { type Lock, takeOwnLock } from './locks.ts';
import { bootId } from './machine.ts';

/** How many programs of one user run at once on this machine, over all Proctors of that user. */
export const SLOTS = Math.max(4, 2 * availableParallelism());

/**
 * Waits for a slot. Each is a lock of this user, so no other user can take it, and it is free when its holder dies. A user
 * whose state folder cannot be used has no slots to share: nothing bounds how many of those runs go on at once.
 */
export async function takeSlot({ onWait, signal }: Waiting = {}): Promise<() => void> {
  for (let waitedMs = 0; waitedMs < WAIT_MS; ) {
    if (signal?.aborted) throw new Fault('cancelled', 'The run was cancelled before it began.');
    for (let tried = 0, no = Math.floor(chance() * SLOTS); tried < SLOTS; tried++, no = (no + 1) % SLOTS) {
      const lock = slotLock(no);
      if (lock) return () => lock.close();
    }
    if (waitedMs === 0) onWait?.();
    const pauseMs = 10 + 40 * chance();
    await wait(pauseMs);
    waitedMs += pauseMs;
  }
  throw new Fault('busy', 'All slots for your runs stayed taken for too long. Try again later.');
}

/** Machines may share a home, but they do not share slots. */
const SLOT = `slot-${bootId().slice(0, 8)}`;

const WAIT_MS = 60 * 60 * 1000;

export interface Waiting {
  /** All places are taken. */
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

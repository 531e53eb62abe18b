import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../base/fault.ts';

/** Repeats `act` while the store is unavailable, for about half a minute. */
export async function patiently<Value>(act: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
  for (let tries = 1; ; tries++) {
    try {
      return await act();
    } catch (error) {
      if (!isStoreAway(error) || tries >= TRIES || signal.aborted) throw error;
      await wait(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Whether the same call may work later. */
export function isStoreAway(error: unknown): boolean {
  return error instanceof Fault && error.code === 'store_unavailable';
}

const TRIES = 30;
const PAUSE_MS = 1_000;

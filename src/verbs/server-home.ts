import { setTimeout as wait } from 'node:timers/promises';
import { monotonicMs } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { random } from '../base/ids.ts';
import { homeFrom, makeHome } from '../evidence/run-folder/runs.ts';
import { takeLock } from '../execute/host/locks.ts';

/** The Proctor home whose runs a server in this folder shows. Creates it if it is missing. */
export function serverHome(cwd: string): string {
  const home = homeFrom(cwd);
  makeHome(home);
  return home;
}

/** Runs `act` while no other process holds the named lock in a folder. */
export async function whileLocked<Value>(folder: string, name: string, act: () => Value): Promise<Value> {
  const untilMs = monotonicMs() + LOCK_WAIT_MS;
  for (;;) {
    const lock = takeLock(folder, name);
    if (lock) {
      try {
        return act();
      } finally {
        lock.close();
      }
    }
    if (monotonicMs() > untilMs)
      throw new Fault('busy', `Another process held ${name} for more than 10 seconds. Try again.`);
    await wait(1 + 9 * random());
  }
}

const LOCK_WAIT_MS = 10_000;

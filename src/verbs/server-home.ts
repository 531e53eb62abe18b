import { lutimesSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { monotonicMs, systemClock } from '../base/clock.ts';
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

/** Keeps other servers away from a folder until it is closed, because its files have one writer. */
export function holdServer(folder: string): { close(): void } {
  const lock = takeLock(folder, SERVER_LOCK);
  if (!lock) throw new Fault('server_running', 'Another server serves this project. Stop it first.');
  // Processes that cannot see this one, such as those in other containers, take an old lock for a dead one.
  const timer = setInterval(() => {
    const nowS = systemClock.now() / 1_000;
    try {
      lutimesSync(path.join(folder, SERVER_LOCK), nowS, nowS);
    } catch {
      // The folder is gone, and with it everything that the lock protects.
    }
  }, TOUCH_MS).unref();
  return {
    close: () => {
      clearInterval(timer);
      lock.close();
    },
  };
}

const SERVER_LOCK = 'server.lock';
const TOUCH_MS = 15_000;

/** Runs `act` while no other process holds the named lock in a folder. */
export async function whileLocked<Value>(folder: string, name: string, act: () => Value): Promise<Value> {
  const untilMs = monotonicMs() + LOCK_WAIT_MS;
  for (;;) {
    const done = ifUnlocked(folder, name, act);
    if (done) return done.value;
    if (monotonicMs() > untilMs)
      throw new Fault('busy', `Another process held ${name} for more than 10 seconds. Try again.`);
    await wait(1 + 9 * random());
  }
}

const LOCK_WAIT_MS = 10_000;

/**
 * The same without a turn of the event loop in between, for what takes less than a millisecond, such as a line of a
 * log.
 */
export function inTurn<Value>(folder: string, name: string, act: () => Value): Value {
  const untilMs = monotonicMs() + TURN_WAIT_MS;
  for (;;) {
    const done = ifUnlocked(folder, name, act);
    if (done) return done.value;
    if (monotonicMs() > untilMs)
      throw new Fault('busy', `Another process held ${name} for more than a second. Try again.`);
    Atomics.wait(PAUSE, 0, 0, 1);
  }
}

const TURN_WAIT_MS = 1_000;
const PAUSE = new Int32Array(new SharedArrayBuffer(4));

function ifUnlocked<Value>(folder: string, name: string, act: () => Value): { readonly value: Value } | undefined {
  const lock = takeLock(folder, name);
  if (!lock) return undefined;
  try {
    return { value: act() };
  } finally {
    lock.close();
  }
}

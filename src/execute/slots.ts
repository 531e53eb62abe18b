import { createServer, type Server } from 'node:net';
import { availableParallelism } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../base/fault.ts';
import { chance } from '../base/ids.ts';

/** How many programs run at once on this machine, whatever number of Proctors start them. */
export const SLOTS = Math.max(4, 2 * availableParallelism());

/**
 * Waits for one of the machine's places. A place is a name in the kernel that only one process can hold at a time: it
 * is free again when its holder lets go or dies, and nobody has to clean up.
 */
export async function takeSlot({ onWait, signal }: Waiting = {}): Promise<() => void> {
  for (let waitedMs = 0; waitedMs < WAIT_MS; ) {
    if (signal?.aborted) throw new Fault('cancelled', 'The run was cancelled before it began.');
    for (let tried = 0, no = Math.floor(chance() * SLOTS); tried < SLOTS; tried++, no = (no + 1) % SLOTS) {
      const server = await holdName(`slot-${no}`);
      if (server) return () => server.close();
    }
    if (waitedMs === 0) onWait?.();
    const pauseMs = 10 + 40 * chance();
    await wait(pauseMs);
    waitedMs += pauseMs;
  }
  throw new Fault('busy', 'All places for runs on this machine stayed taken for too long. Try again later.');
}

const WAIT_MS = 60 * 60 * 1000;

export interface Waiting {
  /** All places are taken. */
  readonly onWait?: () => void;
  readonly signal?: AbortSignal;
}

/**
 * Takes a name that no other process on this machine holds, or nothing if one does. It lies in the kernel's own space
 * of names, with no file behind it, apart for each user; those who share a thing take the name of who owns it.
 */
export function holdName(name: string, uid = process.getuid?.() ?? 0): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer(socket => socket.destroy());
    server.once('error', error => {
      if ('code' in error && error.code === 'EADDRINUSE') resolve(undefined);
      else reject(new Fault('slots_failed', 'No place for the run could be taken.', { cause: error }));
    });
    server.listen({ path: `\0proctor-${uid}-${name}` }, () => resolve(server.unref()));
  });
}

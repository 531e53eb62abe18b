import type { Sandbox } from '../job/sandbox-instance.ts';
import type { Cgroups } from '../cgroups/cgroups.ts';
import { ownName } from '../host/processes.ts';
import { ProcessInstance } from './bound-instance.ts';
import { allRemoved, type Disk, Holder, type StreamKind } from './holder.ts';
import { uidFor } from './users.ts';

export interface ProcessSandbox extends Sandbox {
  /** Starts a holder for the next run, for each kind of streams that a run has used. */
  warm(): void;
  close(): Promise<void>;
}

/** Runs programs in bubblewrap, with control groups and a system call filter. */
export function processSandbox(cgroups: Cgroups): ProcessSandbox {
  const spares = new Map<StreamKind, Promise<Holder>>();
  let count = 0;
  /** The disk of the last run with each kind of streams. Most runs are scripts, which use pipes. */
  const disks = new Map<StreamKind, Disk | undefined>([['pipes', undefined]]);
  const make = (streams: StreamKind): Promise<Holder> => {
    const holder = Holder.open(`${ownName()}-${++count}`, cgroups, {
      uid: uidFor(count),
      disk: disks.get(streams),
      streams,
    });
    // A spare may never be used. If it fails, the `open` that uses it reports the failure.
    holder.catch(() => undefined);
    return holder;
  };
  return {
    warm() {
      // Agents and their checks take turns, so a spare of the last kind alone would rarely fit.
      for (const streams of disks.keys()) if (!spares.has(streams)) spares.set(streams, make(streams));
    },
    async open(job) {
      const streams = job.guarded ? 'sockets' : 'pipes';
      const next = spares.get(streams) ?? make(streams);
      // Before the await: a concurrent `open` must not get the same holder.
      spares.delete(streams);
      disks.set(streams, { bytes: job.limits.workBytes, entries: job.limits.workEntries });
      const holder = await next;
      try {
        return await ProcessInstance.open(job, holder);
      } catch (error) {
        await holder.close();
        throw error;
      }
    },
    async close() {
      const holders = [...spares.values()];
      spares.clear();
      for (const holder of holders) await (await holder.catch(() => undefined))?.close();
      await allRemoved();
    },
  };
}

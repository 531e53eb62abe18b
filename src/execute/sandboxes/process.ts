import type { Sandbox } from '../job/sandbox-instance.ts';
import type { Cgroups } from '../cgroups/cgroups.ts';
import { ownName } from '../host/processes.ts';
import { ProcessInstance } from './bound-instance.ts';
import { allRemoved, type Disk, Holder, type StreamKind } from './holder.ts';
import { uidFor } from './users.ts';

export interface ProcessSandbox extends Sandbox {
  /** Starts a holder for the next run. */
  warm(): void;
  close(): Promise<void>;
}

/** Runs programs in bubblewrap, with control groups and a system call filter. */
export function processSandbox(cgroups: Cgroups): ProcessSandbox {
  const spares = new Map<StreamKind, Promise<Holder>>();
  let count = 0;
  let disk: Disk | undefined;
  let lastStreams: StreamKind = 'pipes';
  const make = (streams: StreamKind): Promise<Holder> => {
    const holder = Holder.open(`${ownName()}-${++count}`, cgroups, { uid: uidFor(count), disk, streams });
    // A spare may never be used. If it fails, the `open` that uses it reports the failure.
    holder.catch(() => undefined);
    return holder;
  };
  return {
    warm() {
      if (!spares.has(lastStreams)) spares.set(lastStreams, make(lastStreams));
    },
    async open(job) {
      lastStreams = job.guarded ? 'sockets' : 'pipes';
      const next = spares.get(lastStreams) ?? make(lastStreams);
      // Before the await: a concurrent `open` must not get the same holder.
      spares.delete(lastStreams);
      const holder = await next;
      disk = { bytes: job.limits.workBytes, entries: job.limits.workEntries };
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

import { Fault } from '../../base/fault.ts';
import type { Job, Limits } from '../job.ts';
import { GroupWatch, type RunWatch, SampleWatch, socketShare } from '../run-watch.ts';
import { DISK, type Holder } from './holder.ts';
import type { Uncounted } from './seccomp.ts';

/** What holds a run to its limits besides the kernel. */
export interface Bounded {
  readonly watch: RunWatch;
  readonly uncounted: Uncounted;
}

/** Gives a holder the limits of a job and its disk: by control groups, or where there are none by looking at /proc. */
export async function bounded(job: Job, holder: Holder): Promise<Bounded> {
  const { limits } = job;
  const { cgroup } = holder;
  const disk = { bytes: limits.workBytes, entries: limits.workEntries };
  if (cgroup) {
    await cgroup.limit(ofGroup(limits));
    await holder.mount(disk);
    return { watch: new GroupWatch(job, cgroup), uncounted: {} };
  }
  if (limits.cpus !== undefined) {
    throw new Fault('not_enforceable', 'A share of the processors cannot be enforced here: it needs control groups.');
  }
  await holder.mount(disk);
  const place = { proc: holder.pathOf('/proc'), disk: holder.pathOf(DISK), shell: holder.shell };
  return { watch: new SampleWatch(job, place), uncounted: await uncountedIn(limits, holder) };
}

function ofGroup({ memoryBytes, pids, cpus }: Limits) {
  const sockets = memoryBytes === undefined ? 0 : socketShare(memoryBytes);
  return {
    // Half of the share is the kernel's to give to TCP and UDP. It may exceed that by a page or two per socket.
    ...(memoryBytes !== undefined && { memoryBytes: memoryBytes - sockets, socketBytes: Math.floor(sockets / 2) }),
    ...(pids !== undefined && { pids: pids + OURS_WITHIN }),
    ...(cpus !== undefined && { cpus }),
  };
}

/** Memory that no process shows is refused, or bounded where the kernel can. */
async function uncountedIn({ memoryBytes }: Limits, holder: Holder): Promise<Uncounted> {
  if (memoryBytes === undefined) return {};
  const isBounded = await holder.limitSystemV(memoryBytes / SYSTEM_V_PART);
  const systemV = isBounded ? [] : (['shmget', 'msgget', 'semget'] as const);
  return { uncounted: ['memfd_create', ...systemV], plainBuffers: true };
}

/** An eighth of its memory. */
const SYSTEM_V_PART = 8;

/** The holder, its shell, bubblewrap, and its first process inside. */
const OURS_WITHIN = 4;

/** Limits for each process, which hold should looking come too late. The kernel counts the processes together. */
export function perProcess({ memoryBytes, pids, cpuSeconds }: Limits): string[] {
  return [
    '/usr/bin/prlimit',
    // Less than this, and some interpreters hang instead of failing.
    ...(memoryBytes === undefined ? [] : [`--data=${Math.max(memoryBytes, DATA_BYTES_MIN)}`]),
    ...(pids === undefined ? [] : [`--nproc=${pids + OURS_WITHIN}`]),
    ...(cpuSeconds === undefined ? [] : [`--cpu=${Math.ceil(cpuSeconds) + 2}:${Math.ceil(cpuSeconds) + 3}`]),
  ];
}

const DATA_BYTES_MIN = 128 * 1024 * 1024;

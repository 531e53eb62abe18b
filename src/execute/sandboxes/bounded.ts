import { Fault } from '../../base/fault.ts';
import type { Job, JobLimits } from '../job/job.ts';
import { GroupWatch, type RunWatch, SampleWatch, socketShare } from './run-watch.ts';
import { DISK, type Holder } from './holder.ts';
import type { Uncounted } from './seccomp.ts';

/** How Proctor enforces limits that the kernel does not enforce by itself. */
export interface Bounded {
  readonly watch: RunWatch;
  readonly uncounted: Uncounted;
}

/** Applies a job's limits to a holder, by control groups or by sampling /proc, and mounts its work folder. */
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
    throw new Fault(
      'not_enforceable',
      'Cannot limit CPUs: this machine has no usable control groups. Run `proctor doctor`.',
    );
  }
  await holder.mount(disk);
  const place = { proc: holder.pathOf('/proc'), disk: holder.pathOf(DISK), shell: holder.shell };
  return { watch: new SampleWatch(job, place), uncounted: await uncountedIn(limits, holder) };
}

function ofGroup({ memoryBytes, pids, cpus }: JobLimits) {
  const sockets = memoryBytes === undefined ? 0 : socketShare(memoryBytes);
  return {
    // The kernel may give half of the share to TCP and UDP buffers, plus a page or two per socket.
    ...(memoryBytes !== undefined && { memoryBytes: memoryBytes - sockets, socketBytes: Math.floor(sockets / 2) }),
    ...(pids !== undefined && { pids: pids + OURS_WITHIN }),
    ...(cpus !== undefined && { cpus }),
  };
}

/**
 * Limits System V memory if the kernel can, and otherwise refuses it. Always refuses memfd, which is not counted for
 * any process.
 */
async function uncountedIn({ memoryBytes }: JobLimits, holder: Holder): Promise<Uncounted> {
  if (memoryBytes === undefined) return {};
  const isBounded = await holder.limitSystemV(memoryBytes / SYSTEM_V_PART);
  const systemV = isBounded ? [] : (['shmget', 'msgget', 'semget'] as const);
  return { uncounted: ['memfd_create', ...systemV], plainBuffers: true };
}

/** An eighth of the memory limit. */
const SYSTEM_V_PART = 8;

/** The keeper, the shell, bubblewrap and its first process inside the sandbox. */
const OURS_WITHIN = 4;

/** Limits per process, as a backstop for sampling. The kernel counts `nproc` over all processes. */
export function perProcess({ memoryBytes, pids, cpuSeconds }: JobLimits): string[] {
  return [
    '/usr/bin/prlimit',
    // With less, some interpreters hang instead of failing.
    ...(memoryBytes === undefined ? [] : [`--data=${Math.max(memoryBytes, DATA_BYTES_MIN)}`]),
    ...(pids === undefined ? [] : [`--nproc=${pids + OURS_WITHIN}`]),
    ...(cpuSeconds === undefined ? [] : [`--cpu=${Math.ceil(cpuSeconds) + 2}:${Math.ceil(cpuSeconds) + 3}`]),
  ];
}

const DATA_BYTES_MIN = 128 * 1024 * 1024;

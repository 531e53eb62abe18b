import type { Counters } from '../job/sandbox-instance.ts';
import type { Cgroup } from '../cgroups/cgroups.ts';
import { CpuTally } from '../host/cpu-tally.ts';
import type { Job } from '../job/job.ts';
import { bytesOnTmpfs, memoryOf } from '../host/memory-sum.ts';
import { processesIn, timesOf } from '../host/proc-files.ts';
import { startTicksOf } from '../host/processes.ts';
import { canUnixSocketsHold, datagramAndStreamBytes, netlinkBytes } from '../host/socket-memory.ts';

/** Samples the limits that the kernel does not enforce by itself, and reports what the run has used. */
export interface RunWatch {
  /** `init` is the pid of the first process in the sandbox, as seen from this machine. */
  exceeded(init: number | undefined): Promise<'cpu' | 'memory' | undefined>;
  counters(): Promise<Counters>;
}

type Watched = Pick<Job, 'limits' | 'network'>;

/** The share of `--memory` that is reserved for socket buffers, which the kernel does not count as process memory. */
export function socketShare(memoryBytes: number): number {
  return Math.min(Math.floor(memoryBytes / 16), SOCKET_BYTES_MAX);
}

const SOCKET_BYTES_MAX = 32 * 1024 * 1024;

/** With control groups, Proctor samples only socket buffers and CPU time. The kernel enforces the rest. */
export class GroupWatch implements RunWatch {
  readonly #job: Watched;
  readonly #cgroup: Cgroup;

  constructor(job: Watched, cgroup: Cgroup) {
    this.#job = job;
    this.#cgroup = cgroup;
  }

  async exceeded(init: number | undefined): Promise<'cpu' | 'memory' | undefined> {
    const { cpuSeconds, memoryBytes } = this.#job.limits;
    if (cpuSeconds !== undefined && ((await this.counters()).cpuMs ?? 0) >= cpuSeconds * 1_000) return 'cpu';
    if (memoryBytes === undefined) return undefined;
    const counted = await this.#cgroup.socketBytes();
    const bytes = (counted ?? 0) + (hasOwnNetwork(this.#job, init) ? uncountedBytes(init, counted) : 0);
    return bytes > socketShare(memoryBytes) ? 'memory' : undefined;
  }

  counters(): Promise<Counters> {
    return this.#cgroup.counters();
  }
}

/** Without control groups, Proctor sums the usage of all of the run's processes from /proc. */
export class SampleWatch implements RunWatch {
  readonly #job: Watched;
  readonly #proc: string;
  readonly #disk: string;
  readonly #tally = new CpuTally();
  readonly #ticksBefore: number;
  #cpuMs: number | undefined;
  #memoryPeakBytes: number | undefined;

  /** `proc` shows only the processes of the run and its holder. `disk` is the mount point of the work folder. */
  constructor(job: Watched, { proc, disk, shell }: { proc: string; disk: string; shell: number | undefined }) {
    this.#job = job;
    this.#proc = proc;
    this.#disk = disk;
    // With the /proc of the whole machine, the run would be charged for unrelated processes.
    const isOurs = shell !== undefined && timesOf(proc, 1)?.startTicks === startTicksOf(shell);
    if (!isOurs) throw new Error("Cannot distinguish the run's processes from others");
    this.#ticksBefore = this.#ticks(processesIn(proc));
  }

  async exceeded(init: number | undefined): Promise<'cpu' | 'memory' | undefined> {
    const pids = processesIn(this.#proc);
    this.#count(pids);
    const { cpuSeconds, memoryBytes } = this.#job.limits;
    if (cpuSeconds !== undefined && (this.#cpuMs ?? 0) >= cpuSeconds * 1_000) return 'cpu';
    if (memoryBytes === undefined) return undefined;
    if (hasOwnNetwork(this.#job, init) && canUnixSocketsHold(init, memoryBytes)) return 'memory';
    const bytes = memoryOf(this.#proc, pids, this.#besides(init), memoryBytes);
    this.#memoryPeakBytes = Math.max(this.#memoryPeakBytes ?? 0, bytes);
    return bytes > memoryBytes ? 'memory' : undefined;
  }

  async counters(): Promise<Counters> {
    try {
      this.#count(processesIn(this.#proc));
    } catch {
      // The holder has ended. Earlier samples still count.
    }
    return {
      oomKills: 0,
      ...(this.#cpuMs !== undefined && { cpuMs: this.#cpuMs }),
      ...(this.#memoryPeakBytes !== undefined && { memoryPeakBytes: this.#memoryPeakBytes }),
      isSampled: true,
    };
  }

  /** Memory that belongs to no process. */
  #besides(init: number | undefined): number {
    const inside = init === undefined ? [] : ['/tmp', '/dev/shm'].map(folder => `/proc/${init}/root${folder}`);
    const sockets = hasOwnNetwork(this.#job, init) ? datagramAndStreamBytes(init) + netlinkBytes(init) : 0;
    return bytesOnTmpfs([this.#disk, ...inside]) + sockets;
  }

  #count(pids: readonly number[]): void {
    const cpuMs = (this.#ticks(pids) - this.#ticksBefore) * TICK_MS;
    this.#cpuMs = Math.max(this.#cpuMs ?? 0, cpuMs);
  }

  #ticks(pids: readonly number[]): number {
    return this.#tally.add(pids.map(pid => timesOf(this.#proc, pid)).filter(times => times !== undefined));
  }
}

function uncountedBytes(init: number, counted: number | undefined): number {
  return netlinkBytes(init) + (counted === undefined ? datagramAndStreamBytes(init) : 0);
}

/** In an open network, the run's sockets cannot be distinguished from others. */
function hasOwnNetwork({ network }: Watched, init: number | undefined): init is number {
  return network === 'blocked' && init !== undefined;
}

/** The tick length of Linux on all supported machines. */
const TICK_MS = 10;

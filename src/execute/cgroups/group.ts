import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, Fault } from '../../base/fault.ts';
import { fieldOf, killIn, processesInGroups, readFileOf, removeFolders, writeFileOf } from './folders.ts';

/** A group of processes that the kernel limits and counts together. No process can leave it. */
export interface Cgroup {
  /** The folders that another process must remove if this one cannot: see `removeCgroups`. */
  readonly folders: readonly string[];
  /** Throws a Fault if the kernel does not accept the limits. */
  limit(limits: CgroupLimits): Promise<void>;
  /** Moves a process into the group, with its threads and future children. Takes up to 15 ms. */
  join(pid: number): Promise<void>;
  counters(): Promise<CgroupCounters>;
  countsSockets(): Promise<boolean>;
  /** Bytes in TCP and UDP buffers that do not count as the group's memory: 0 if they do, undefined if unknown. */
  socketBytes(): Promise<number | undefined>;
  processes(): Promise<number[]>;
  /** Resolves when no process is left. */
  kill(): Promise<void>;
  /** The group must be empty. */
  close(): Promise<void>;
}

export interface CgroupLimits {
  /** Memory and swap together. */
  readonly memoryBytes?: number;
  /** Buffers of TCP and UDP sockets, if the kernel counts them separately from memory. */
  readonly socketBytes?: number;
  readonly pids?: number;
  /** How many CPUs the group may use at once, on average over 100 ms. */
  readonly cpus?: number;
}

export interface CgroupCounters {
  /** Processes that the kernel killed because the group ran out of memory. */
  readonly oomKills: number;
  readonly memoryPeakBytes?: number;
  readonly cpuMs?: number;
  readonly forksDenied?: number;
}

/** The folder for each controller. Version 2 has one folder for all of them. */
export interface GroupFolders {
  readonly memory: string;
  readonly pids: string;
  /** Counts CPU time if `unified` does not. */
  readonly cpuacct?: string;
  /** Limits the use of CPUs. Its group is created only if needed, because joining each group takes time. */
  readonly cpu?: string;
  /** A version 2 group, which can be killed as a whole. Machines with version 1 may offer it too. */
  readonly unified?: string;
}

export async function makeGroup(version: 'v1' | 'v2', parents: GroupFolders, name: string): Promise<Cgroup> {
  if (!/^[A-Za-z0-9._-]{1,100}$/.test(name) || `${PREFIX}${name}` === OWN_LEAF) {
    throw new Error('The name of a control group must consist of letters, digits, dots, dashes and underscores');
  }
  const child = (parent: string): string => path.join(parent, `${PREFIX}${name}`);
  const folders: GroupFolders = {
    ...(parents.cpu !== undefined && { cpu: child(parents.cpu) }),
    memory: child(parents.memory),
    pids: child(parents.pids),
    ...(parents.cpuacct !== undefined && { cpuacct: child(parents.cpuacct) }),
    ...(parents.unified !== undefined && { unified: child(parents.unified) }),
  };
  const group = new ControlGroup(version, folders);
  const made = await Promise.allSettled(group.folders.map(makeFolder));
  const failed = made.find(result => result.status === 'rejected');
  if (failed === undefined) return group;
  await removeFolders(group.folders.filter((_, index) => made[index]?.status === 'fulfilled')).catch(() => undefined);
  throw new Fault('cgroups_unavailable', 'A control group could not be created.', { cause: failed.reason });
}

export const PREFIX = 'proctor-';

/** The child group to which this process moves when its own group must become a parent. */
export const OWN_LEAF = `${PREFIX}self`;

/** Replaces the folder of an earlier group, whose counters would otherwise remain. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    await removeFolders([folder]);
    await mkdir(folder);
  }
}

export class ControlGroup implements Cgroup {
  folders: readonly string[];
  readonly #version: 'v1' | 'v2';
  readonly #at: GroupFolders;

  constructor(version: 'v1' | 'v2', at: GroupFolders) {
    this.#version = version;
    this.#at = at;
    const { cpu: _, ...always } = at;
    this.folders = [...new Set(Object.values(always))];
  }

  async limit({ memoryBytes, socketBytes, pids, cpus }: CgroupLimits): Promise<void> {
    try {
      if (memoryBytes !== undefined) await this.#limitMemory(memoryBytes);
      if (socketBytes !== undefined && this.#version === 'v1' && (await this.countsSockets())) {
        await take(this.#at.memory, `${SOCKETS}.limit_in_bytes`, socketBytes, PAGE_BYTES_MAX);
      }
      if (cpus !== undefined) await this.#limitCpus(cpus);
      if (pids !== undefined) await take(this.#at.pids, 'pids.max', pids, 0);
    } catch (cause) {
      throw new Fault('limits_not_enforced', "The kernel did not accept a control group's limits.", { cause });
    }
  }

  async #limitMemory(bytes: number): Promise<void> {
    const folder = this.#at.memory;
    if (this.#version === 'v1') {
      await take(folder, 'memory.limit_in_bytes', bytes, PAGE_BYTES_MAX);
      // The limit including swap must not be smaller, so it is set second. Kernels without swap accounting lack it.
      if ((await readFileOf(folder, MEMSW)) !== undefined) await take(folder, MEMSW, bytes, PAGE_BYTES_MAX);
      return;
    }
    await take(folder, 'memory.max', bytes, PAGE_BYTES_MAX);
    if ((await readFileOf(folder, 'memory.swap.max')) !== undefined) await take(folder, 'memory.swap.max', 0, 0);
  }

  async #limitCpus(cpus: number): Promise<void> {
    const { cpu } = this.#at;
    if (cpu === undefined) throw new Error('no controller limits CPUs');
    const quota = Math.round(cpus * CPU_PERIOD_US);
    if (this.#version === 'v2') {
      await writeFileOf(cpu, 'cpu.max', `${quota} ${CPU_PERIOD_US}`);
      const taken = await readFileOf(cpu, 'cpu.max');
      if (taken?.trim() !== `${quota} ${CPU_PERIOD_US}`) throw new Error(`cpu.max is ${taken}`);
      return;
    }
    // On many machines this is the same folder as `cpuacct`.
    const isNew = !this.folders.includes(cpu);
    const inside = isNew ? await this.processes() : [];
    if (isNew) await makeFolder(cpu);
    this.folders = [...new Set([...this.folders, cpu])];
    await take(cpu, 'cpu.cfs_period_us', CPU_PERIOD_US, 0);
    await take(cpu, 'cpu.cfs_quota_us', quota, 0);
    for (const pid of inside) {
      await writeFileOf(cpu, 'cgroup.procs', String(pid)).catch((error: unknown) => {
        // The process has ended in the meantime.
        if (codeOf(error) !== 'ESRCH') throw error;
      });
    }
  }

  async countsSockets(): Promise<boolean> {
    // Version 2 counts them as memory.
    return this.#version === 'v2' || (await readFileOf(this.#at.memory, `${SOCKETS}.limit_in_bytes`)) !== undefined;
  }

  async socketBytes(): Promise<number | undefined> {
    if (this.#version === 'v2') return 0;
    const usage = await readFileOf(this.#at.memory, `${SOCKETS}.usage_in_bytes`);
    return usage === undefined ? undefined : Number(usage);
  }

  async join(pid: number): Promise<void> {
    try {
      await Promise.all(this.folders.map(folder => writeFileOf(folder, 'cgroup.procs', String(pid))));
    } catch (cause) {
      if (codeOf(cause) === 'ESRCH') {
        throw new Fault('process_gone', 'The process ended before its limits were set.', { cause });
      }
      throw new Fault('limits_not_enforced', 'A process could not be moved into its control group.', { cause });
    }
  }

  async counters(): Promise<CgroupCounters> {
    const { memory, pids } = this.#at;
    const isV1 = this.#version === 'v1';
    const [oom, peak, forks, cpuMs] = await Promise.all([
      readFileOf(memory, isV1 ? 'memory.oom_control' : 'memory.events'),
      readFileOf(memory, isV1 ? 'memory.max_usage_in_bytes' : 'memory.peak'),
      readFileOf(pids, 'pids.events'),
      this.#cpuMs(),
    ]);
    const oomKills = fieldOf(oom ?? '', 'oom_kill');
    // A counter that cannot be read must not be reported as 0.
    if (oomKills === undefined) {
      throw new Fault('counters_unreadable', "A control group's counters could not be read.");
    }
    const forksDenied = fieldOf(forks ?? '', 'max');
    return {
      oomKills,
      ...(peak !== undefined && { memoryPeakBytes: Number(peak) }),
      ...(cpuMs !== undefined && { cpuMs }),
      ...(forksDenied !== undefined && { forksDenied }),
    };
  }

  async #cpuMs(): Promise<number | undefined> {
    const { cpuacct, unified } = this.#at;
    if (cpuacct !== undefined) {
      const nanoseconds = await readFileOf(cpuacct, 'cpuacct.usage');
      return nanoseconds === undefined ? undefined : Math.round(Number(nanoseconds) / 1e6);
    }
    const stat = unified === undefined ? undefined : await readFileOf(unified, 'cpu.stat');
    const microseconds = fieldOf(stat ?? '', 'usage_usec');
    return microseconds === undefined ? undefined : Math.round(microseconds / 1e3);
  }

  processes(): Promise<number[]> {
    return processesInGroups(this.folders);
  }

  kill(): Promise<void> {
    return killIn(this.folders);
  }

  close(): Promise<void> {
    return removeFolders(this.folders);
  }
}

/** Named after TCP, but includes UDP. */
const SOCKETS = 'memory.kmem.tcp';

const CPU_PERIOD_US = 100_000;

const MEMSW = 'memory.memsw.limit_in_bytes';

/** The largest page size of supported machines. */
const PAGE_BYTES_MAX = 65_536;

/** Writes a limit and reads it back, because some kernels and containers accept a write without effect. */
async function take(folder: string, name: string, value: number, roundedMax: number): Promise<void> {
  await writeFileOf(folder, name, String(value));
  const taken = Number.parseInt((await readFileOf(folder, name)) ?? '', 10);
  const isTaken = taken === value || (taken < value && value - taken < roundedMax);
  if (!isTaken) throw new Error(`${name} is ${taken} instead of ${value}`);
}

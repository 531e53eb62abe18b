import { realpath, statfs } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, Fault } from '../../base/fault.ts';
import { killIn, processesInGroups, removeFolders } from './folders.ts';
import { type Cgroup, type GroupFolders, makeGroup, PREFIX } from './group.ts';
import { type CgroupMounts, cgroupMounts } from './mounts.ts';
import { findParent } from './v2.ts';
import { ownName } from '../host/processes.ts';

export type { Cgroup } from './group.ts';

export interface Cgroups {
  readonly version: 'v1' | 'v2' | 'none';
  /** Why cgroup v2, or cgroups in general, cannot be used. */
  readonly reason?: string;
  /** Whether a group can be limited to a share of the CPUs. */
  readonly dividesCpus: boolean;
  /** Whether the kernel limits the buffers of TCP and UDP sockets. */
  readonly countsSockets: boolean;
  /** The name gets the prefix `proctor-`. */
  open(name: string): Promise<Cgroup>;
}

/** Determines what this machine supports by trying it in a probe group. */
export async function findCgroups(options: { readonly mounts?: CgroupMounts } = {}): Promise<Cgroups> {
  const mounts = options.mounts ?? (await cgroupMounts());
  const second = await tryV2(mounts);
  if ('parents' in second) {
    const { parents, ...can } = second;
    return { version: 'v2', ...can, open: name => makeGroup('v2', parents, name) };
  }
  const first = await tryV1(mounts);
  if ('parents' in first) {
    const { parents, ...can } = first;
    return { version: 'v1', reason: second.reason, ...can, open: name => makeGroup('v1', parents, name) };
  }
  // The reason for the version that the machine actually uses.
  const { reason } = mounts.v1.memory ? first : second;
  return {
    version: 'none',
    reason,
    dividesCpus: false,
    countsSockets: false,
    open: () => Promise.reject(new Fault('cgroups_unavailable', reason)),
  };
}

/**
 * Kills the processes left in a dead process's groups and removes the groups. The list comes from a file, so only
 * groups with Proctor's prefix are touched, and never one that contains this process.
 */
export async function removeCgroups(folders: readonly string[]): Promise<void> {
  const ours: string[] = [];
  for (const folder of folders) if (await isOurs(folder)) ours.push(folder);
  // Another hierarchy may still succeed.
  await killIn(ours).catch(() => undefined);
  await Promise.allSettled(ours.map(folder => removeFolders([folder])));
}

async function isOurs(folder: string): Promise<boolean> {
  try {
    if (!path.basename(folder).startsWith(PREFIX) || (await realpath(folder)) !== folder) return false;
    if (!CGROUP_TYPES.has((await statfs(folder)).type)) return false;
    return !(await processesInGroups([folder])).includes(process.pid);
  } catch {
    return false;
  }
}

/** File system types of control groups, version 1 and 2. */
const CGROUP_TYPES: ReadonlySet<number> = new Set([0x27_e0_eb, 0x63_67_72_70]);

type Tried =
  | ({ readonly parents: GroupFolders } & Pick<Cgroups, 'dividesCpus' | 'countsSockets'>)
  | { readonly reason: string };

async function tryV2({ v2 }: CgroupMounts): Promise<Tried> {
  if (v2 === undefined) return { reason: 'This machine has no unified cgroup hierarchy.' };
  const found = await findParent(v2, process.geteuid?.() === 0);
  if ('reason' in found) return found;
  const { parent } = found;
  return tryOut('v2', { memory: parent, pids: parent, unified: parent, cpu: parent });
}

async function tryV1({ v1, v2 }: CgroupMounts): Promise<Tried> {
  if (!v1.memory || !v1.pids) return { reason: 'This machine has no control groups for memory and processes.' };
  const unified = v2 && (await canMake(v2.own)) ? v2.own : undefined;
  if (!v1.cpuacct && unified === undefined)
    return { reason: 'This machine has no control groups that count CPU time.' };
  return tryOut('v1', {
    memory: v1.memory.own,
    pids: v1.pids.own,
    ...(v1.cpuacct && { cpuacct: v1.cpuacct.own }),
    ...(v1.cpu && { cpu: v1.cpu.own }),
    ...(unified !== undefined && { unified }),
  });
}

async function tryOut(version: 'v1' | 'v2', parents: GroupFolders): Promise<Tried> {
  try {
    const group = await makeGroup(version, parents, probeName());
    try {
      await group.limit({ memoryBytes: 64 * 1024 * 1024, pids: 64 });
      await group.counters();
      const dividesCpus = await group.limit({ cpus: CPUS_MIN }).then(
        () => true,
        () => false,
      );
      return { parents, dividesCpus, countsSockets: await group.countsSockets() };
    } finally {
      await group.close();
    }
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

/** The smallest share of a CPU that a run can request. */
const CPUS_MIN = 0.01;

/**
 * Whether Proctor can create groups in the unified hierarchy.
 * Even without limits, a group counts CPU time and can be killed as a whole.
 */
async function canMake(parent: string): Promise<boolean> {
  try {
    await (await makeGroup('v2', { memory: parent, pids: parent }, probeName())).close();
    return true;
  } catch {
    return false;
  }
}

let probes = 0;

const probeName = (): string => `probe-${ownName()}-${++probes}`;

function reasonOf(error: unknown): string {
  const code = codeOf((error as { cause?: unknown }).cause);
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
    return 'This user is not permitted to create control groups.';
  return error instanceof Fault ? error.message : 'Control groups could not be tested.';
}

import type { LimitStrength, LimitName } from '../contracts/script-outcome/claims.ts';

/** What enforces limits on a machine. */
export type MachineKind = 'cgroup_v1' | 'cgroup_v2' | 'no_groups' | 'no_sandbox';

/** How strongly a limit is enforced, and by what. */
export type Held = readonly [claim: LimitStrength, by: string];

const nothing: Held = ['absent', ''];

export interface LimitRow {
  readonly limit: LimitName;
  /** The display name. */
  readonly title: string;
  readonly held: Readonly<Record<MachineKind, Held>>;
}

/**
 * Every limit on every kind of machine. Records, evidence, `show`, `doctor`, warnings and docs/sandboxes.md use this table.
 *
 * - enforced: for the whole run. No process can exceed the limit or escape the count.
 * - watched: Proctor samples several times per second and ends the run. It can miss short peaks.
 * - per_process: the limit applies to each process separately.
 * - absent: nothing enforces it.
 */
export const LIMITS: readonly LimitRow[] = [
  row('timeout_ms', 'wall-clock time', ['enforced', 'Proctor’s clock'], 'same', 'same', 'same'),
  row('idle_timeout_ms', 'idle time', ['enforced', 'Proctor’s clock'], 'same', 'same', 'same'),
  row(
    'cpu_seconds',
    'CPU time',
    ['enforced', 'counted by the cgroup; Proctor ends the run within 0.1 s'],
    'same',
    ['watched', 'sum over `/proc`'],
    nothing,
  ),
  row('cpus', 'CPU share', ['enforced', '`cpu.cfs_quota_us`'], ['enforced', '`cpu.max`'], nothing, nothing),
  row(
    'memory_bytes',
    'memory, including files in memory',
    ['enforced', '`memory.limit_in_bytes`'],
    ['enforced', '`memory.max`'],
    ['watched', 'sum over `/proc`, file systems and sockets'],
    nothing,
  ),
  row(
    'network_buffer_bytes',
    'memory in TCP and UDP buffers',
    ['enforced', '`memory.kmem.tcp.limit_in_bytes`'],
    ['enforced', '`memory.max`'],
    ['watched', '`/proc/net`'],
    nothing,
  ),
  row(
    'unix_buffer_bytes',
    'memory in Unix socket buffers',
    ['enforced', '`memory.limit_in_bytes`'],
    ['enforced', '`memory.max`'],
    ['watched', 'number of sockets'],
    nothing,
  ),
  row('netlink_buffer_bytes', 'memory in netlink buffers', ['watched', '`/proc/net/netlink`'], 'same', 'same', nothing),
  row(
    'pipe_buffer_bytes',
    'memory in pipes',
    ['enforced', '`memory.limit_in_bytes`'],
    ['enforced', '`memory.max`'],
    ['absent', 'only the kernel’s limit per user'],
    nothing,
  ),
  row(
    'processes',
    'number of processes',
    ['enforced', '`pids.max`'],
    ['enforced', '`pids.max`'],
    ['enforced', '`RLIMIT_NPROC` of the user namespace'],
    nothing,
  ),
  row('open_files', 'open files', ['per_process', '`RLIMIT_NOFILE`'], 'same', 'same', nothing),
  row('work_bytes', 'bytes in the work folder', ['enforced', 'size of its file system'], 'same', 'same', nothing),
  row('work_entries', 'files in the work folder', ['enforced', 'size of its file system'], 'same', 'same', nothing),
  row('output_files', 'files collected from `output/`', ['enforced', 'counted when collected'], 'same', 'same', 'same'),
  row('output_bytes', 'bytes collected from `output/`', ['enforced', 'counted when collected'], 'same', 'same', 'same'),
];

/** `same` means the same as for cgroup v1. */
function row(
  limit: LimitName,
  title: string,
  cgroup_v1: Held,
  cgroup_v2: Held | 'same',
  no_groups: Held | 'same',
  no_sandbox: Held | 'same',
): LimitRow {
  const or = (held: Held | 'same'): Held => (held === 'same' ? cgroup_v1 : held);
  return {
    limit,
    title,
    held: { cgroup_v1, cgroup_v2: or(cgroup_v2), no_groups: or(no_groups), no_sandbox: or(no_sandbox) },
  };
}

/** The probe results that the limits depend on. */
export interface MachineLimits {
  readonly kind: MachineKind;
  readonly dividesCpus: boolean;
  readonly countsSockets: boolean;
}

/** How a limit is enforced on this machine and network. */
export function heldBy(limit: LimitName, machine: MachineLimits, network: 'blocked' | 'open'): Held {
  const { kind, dividesCpus, countsSockets } = machine;
  const held = rowOf(limit).held[kind];
  if (limit === 'cpus' && !dividesCpus) return nothing;
  const hasGroups = kind === 'cgroup_v1' || kind === 'cgroup_v2';
  const isUncounted = limit === 'network_buffer_bytes' && hasGroups && !countsSockets;
  const actual = isUncounted ? rowOf(limit).held.no_groups : held;
  // With an open network, /proc/net lists all sockets on the machine, not only the run's.
  return actual[0] === 'watched' && SOCKETS.has(limit) && network === 'open' ? nothing : actual;
}

function rowOf(limit: LimitName): LimitRow {
  const found = LIMITS.find(row => row.limit === limit);
  if (!found) throw new Error(`Unknown limit ${limit}`);
  return found;
}

const SOCKETS: ReadonlySet<LimitName> = new Set(['network_buffer_bytes', 'unix_buffer_bytes', 'netlink_buffer_bytes']);

/** The warning for a limit that is not fully enforced. The text before the first colon is its code. */
export function claimWarning(limit: LimitName, claim: LimitStrength): string | undefined {
  const meaning = MEANINGS[claim];
  return meaning === undefined ? undefined : `limit_${claim}: ${limit}: ${meaning}`;
}

const MEANINGS: Readonly<Record<LimitStrength, string | undefined>> = {
  enforced: undefined,
  watched: 'Proctor samples several times per second and ends the run at the limit; it can miss short peaks',
  per_process: 'the limit applies to each process separately, not to the whole run',
  absent: 'nothing on this machine enforces it',
};

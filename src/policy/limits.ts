import type { Claim, LimitName } from '../contracts/script-outcome/claims.ts';

/** What holds a run to its limits on a machine. */
export type MachineKind = 'cgroup_v1' | 'cgroup_v2' | 'no_groups' | 'no_sandbox';

/** How one limit is held, and by what, in a few words. */
export type Held = readonly [claim: Claim, by: string];

const nothing: Held = ['absent', ''];

export interface LimitRow {
  readonly limit: LimitName;
  /** What is limited, for people. */
  readonly title: string;
  readonly held: Readonly<Record<MachineKind, Held>>;
}

/**
 * Every limit on every kind of machine. The record, the evidence, `show`, `doctor`, the warnings and the table in
 * docs/sandboxes.md all state what is written here.
 *
 * - enforced: over the whole run. No process of it can exceed the limit or leave the count.
 * - watched: Proctor looks several times per second and ends the run. What is gone between two looks can pass.
 * - per_process: each process has the limit for itself.
 * - absent: nothing holds it.
 */
export const LIMITS: readonly LimitRow[] = [
  row('timeout_ms', 'wall clock', ['enforced', 'Proctor’s clock'], 'same', 'same', 'same'),
  row('idle_timeout_ms', 'idle time', ['enforced', 'Proctor’s clock'], 'same', 'same', 'same'),
  row(
    'cpu_seconds',
    'processor time',
    ['enforced', 'the group counts, Proctor ends the run within 0.1 s'],
    'same',
    ['watched', 'sum over `/proc`'],
    nothing,
  ),
  row('cpus', 'share of processors', ['enforced', '`cpu.cfs_quota_us`'], ['enforced', '`cpu.max`'], nothing, nothing),
  row(
    'memory_bytes',
    'memory, files in memory included',
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
    ['absent', 'the kernel’s own limit per user'],
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
  row(
    'output_files',
    'files taken from `output/`',
    ['enforced', 'counted when they are taken'],
    'same',
    'same',
    'same',
  ),
  row(
    'output_bytes',
    'bytes taken from `output/`',
    ['enforced', 'counted when they are taken'],
    'same',
    'same',
    'same',
  ),
];

/** `same` is as on a machine with control groups of the first version. */
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

/** What a probe found out about a machine, as far as limits depend on it. */
export interface MachineLimits {
  readonly kind: MachineKind;
  readonly dividesCpus: boolean;
  readonly countsSockets: boolean;
}

/** How a limit is held on this machine, in this network. */
export function heldBy(limit: LimitName, machine: MachineLimits, network: 'blocked' | 'open'): Held {
  const { kind, dividesCpus, countsSockets } = machine;
  const held = rowOf(limit).held[kind];
  if (limit === 'cpus' && !dividesCpus) return nothing;
  const hasGroups = kind === 'cgroup_v1' || kind === 'cgroup_v2';
  const isUncounted = limit === 'network_buffer_bytes' && hasGroups && !countsSockets;
  const actual = isUncounted ? heldWithoutGroups(limit) : held;
  // The sockets of an open network are those of the machine, and the run's cannot be told from others.
  return actual[0] === 'watched' && SOCKETS.has(limit) && network === 'open' ? nothing : actual;
}

const heldWithoutGroups = (limit: LimitName): Held => rowOf(limit).held.no_groups;

function rowOf(limit: LimitName): LimitRow {
  const found = LIMITS.find(row => row.limit === limit);
  if (!found) throw new Error(`There is no limit ${limit}`);
  return found;
}

const SOCKETS: ReadonlySet<LimitName> = new Set(['network_buffer_bytes', 'unix_buffer_bytes', 'netlink_buffer_bytes']);

/** What a warning says of a limit that is set and not enforced; the word before the colon is its code. */
export function claimWarning(limit: LimitName, claim: Claim): string | undefined {
  const meaning = MEANINGS[claim];
  return meaning === undefined ? undefined : `limit_${claim}: ${limit}: ${meaning}`;
}

const MEANINGS: Readonly<Record<Claim, string | undefined>> = {
  enforced: undefined,
  watched:
    'Proctor looks several times per second and ends the run at the limit; what is gone between two looks can pass',
  per_process: 'each process has this limit for itself, not the run as a whole',
  absent: 'nothing on this machine holds the run to it',
};

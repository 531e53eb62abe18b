import type { Runner } from '../../contracts/runner/shape.ts';
import type { LimitClaim, LimitName } from '../../contracts/script-outcome/claims.ts';
import type { ScriptOutcome } from '../../contracts/script-outcome/shape.ts';
import type { Job } from '../../execute/job/job.ts';
import type { Machine } from '../../execute/host/machine.ts';
import type { Effective } from '../../policy/effective-limits.ts';
import { heldBy, LIMITS } from '../../policy/limits.ts';

/** The limits of a runner record. It states memory and CPU time only if they are enforced over the whole run. */
export function statedLimits(effective: Effective): Runner['limits'] {
  const { memoryBytes, cpuSeconds, machine, network } = effective;
  const isEnforced = (limit: LimitName): boolean => heldBy(limit, machine, network)[0] === 'enforced';
  return {
    timeout_ms: effective.timeoutMs,
    max_output_files: effective.outputFilesMax,
    max_total_output_bytes: effective.outputBytesMax,
    ...(memoryBytes !== undefined && isEnforced('memory_bytes') && { max_memory_bytes: memoryBytes }),
    ...(cpuSeconds !== undefined && isEnforced('cpu_seconds') && { max_cpu_seconds: cpuSeconds }),
  };
}

/** The mechanism that enforces each limit. */
export function enforcementOf(
  effective: Effective,
  { cgroups, seccomp }: Machine,
  job: Pick<Job, 'limits' | 'network'>,
): ScriptOutcome['enforcement'] {
  const claims = claimsOf(effective, job);
  if (effective.sandbox === 'none') {
    const isRoot = process.getuid?.() === 0;
    return {
      memory: 'none',
      pids: 'none',
      cpu: 'none',
      output: 'none',
      seccomp: false,
      user: !isRoot,
      kill: 'process_group',
      claims,
    };
  }
  const by = cgroups === 'none' ? 'rlimit' : (`cgroup_${cgroups}` as const);
  const cpu = effective.cpuSeconds === undefined ? 'none' : by;
  return { memory: by, pids: by, cpu, output: 'tmpfs', seccomp, user: true, kill: 'pid_namespace', claims };
}

/** Every limit, its value, and how far this machine enforces it. */
function claimsOf(effective: Effective, { limits, network }: Pick<Job, 'limits' | 'network'>): LimitClaim[] {
  const isBare = effective.sandbox === 'none';
  const { memoryBytes } = limits;
  const values: Readonly<Record<LimitName, number | undefined>> = {
    timeout_ms: limits.timeoutMs,
    idle_timeout_ms: limits.idleMs,
    cpu_seconds: limits.cpuSeconds,
    cpus: limits.cpus,
    memory_bytes: memoryBytes,
    network_buffer_bytes: memoryBytes,
    unix_buffer_bytes: memoryBytes,
    netlink_buffer_bytes: memoryBytes,
    pipe_buffer_bytes: memoryBytes,
    processes: limits.pids,
    open_files: isBare ? undefined : limits.openFiles,
    work_bytes: isBare ? undefined : limits.workBytes,
    work_entries: isBare ? undefined : limits.workEntries,
    output_files: effective.outputFilesMax,
    output_bytes: effective.outputBytesMax,
  };
  return LIMITS.map(({ limit }) => {
    const value = values[limit] ?? null;
    return { limit, value, claim: value === null ? 'absent' : heldBy(limit, effective.machine, network)[0] };
  });
}

import type { Runner } from '../../contracts/runner/shape.ts';
import type { LimitName } from '../../contracts/script-outcome/claims.ts';
import type { ScriptOutcome } from '../../contracts/script-outcome/shape.ts';
import type { LimitUnit, PageLimit } from './run-data.ts';

/** What the limits of a step are read from. */
export interface LimitSources extends Pick<ScriptOutcome, 'enforcement' | 'limits' | 'usage'> {
  readonly runner: (Pick<Runner, 'limits'> & Partial<Pick<Runner, 'timing'>>) | undefined;
  /** The values that the caller asked for. */
  readonly asked: Partial<Record<LimitName, number | null | undefined>>;
  /** The files in `output/`; null if unknown. */
  readonly output: { readonly files: number; readonly bytes: number } | null;
}

/** The limits with a measured use first, then the others that were set. */
export function limitParts(from: LimitSources): {
  readonly limits: readonly PageLimit[];
  readonly further: readonly PageLimit[];
} {
  const { usage, output } = from;
  const one = limitReader(from);
  const sampled = usage.measured_by === 'samples' ? 'Sampled, so short peaks can be missing.' : null;
  const denied = usage.forks_denied ? `The system denied ${usage.forks_denied} new processes.` : null;
  return {
    limits: [
      one('timeout_ms', executedMs(from.runner)),
      one('cpu_seconds', usage.cpu_ms, sampled),
      one('memory_bytes', usage.memory_peak_bytes, sampled),
      one('processes', null, denied),
      one('output_files', output?.files ?? null),
      one('output_bytes', output?.bytes ?? null),
    ],
    further: FURTHER.map(name => one(name, null)).filter(({ allowed }) => allowed !== null),
  };
}

const FURTHER: readonly LimitName[] = [
  'idle_timeout_ms',
  'cpus',
  'open_files',
  'work_bytes',
  'work_entries',
  'network_buffer_bytes',
  'unix_buffer_bytes',
  'netlink_buffer_bytes',
  'pipe_buffer_bytes',
];

function limitReader(from: LimitSources) {
  const { enforcement } = from;
  return (name: LimitName, used: number | null, note: string | null = null): PageLimit => {
    const [label, unit, scale = 1] = NAMES[name];
    const claim = enforcement.claims?.find(({ limit }) => limit === name);
    // Runs of earlier versions have no claims.
    const allowed = claim ? claim.value : (statedIn(from, name) ?? null);
    const asked = from.asked[name] ?? null;
    return {
      name: label,
      unit,
      asked: asked === null ? null : asked * scale,
      allowed: allowed === null ? null : allowed * scale,
      used,
      strength: allowed === null ? null : (claim?.claim ?? null),
      by: allowed === null ? null : mechanismOf(name, enforcement),
      note,
    };
  };
}

const NAMES: Readonly<Record<LimitName, readonly [label: string, unit: LimitUnit, scale?: number]>> = {
  timeout_ms: ['Time', 'ms'],
  idle_timeout_ms: ['Time without output', 'ms'],
  cpu_seconds: ['CPU time', 'ms', 1_000],
  cpus: ['CPU cores at once', 'count'],
  memory_bytes: ['Memory', 'bytes'],
  network_buffer_bytes: ['Network buffers', 'bytes'],
  unix_buffer_bytes: ['Unix socket buffers', 'bytes'],
  netlink_buffer_bytes: ['Netlink buffers', 'bytes'],
  pipe_buffer_bytes: ['Pipe buffers', 'bytes'],
  processes: ['Processes at once', 'count'],
  open_files: ['Open files', 'count'],
  work_bytes: ['Size of the work folder', 'bytes'],
  work_entries: ['Entries in the work folder', 'count'],
  output_files: ['Output files', 'count'],
  output_bytes: ['Size of the output', 'bytes'],
};

function statedIn({ runner, limits }: LimitSources, name: LimitName): number | null | undefined {
  const stated: Partial<Record<LimitName, number | null | undefined>> = {
    timeout_ms: runner?.limits.timeout_ms,
    idle_timeout_ms: limits.idle_timeout_ms,
    cpu_seconds: runner?.limits.max_cpu_seconds,
    memory_bytes: runner?.limits.max_memory_bytes,
    processes: limits.pids,
    open_files: limits.open_files,
    output_files: runner?.limits.max_output_files,
    output_bytes: runner?.limits.max_total_output_bytes,
  };
  return stated[name];
}

function mechanismOf(name: LimitName, { memory, pids, cpu, output }: ScriptOutcome['enforcement']): string | null {
  const by: Partial<Record<LimitName, string>> = {
    cpu_seconds: cpu,
    cpus: cpu,
    memory_bytes: memory,
    processes: pids,
    output_bytes: output,
  };
  const found = by[name];
  return found === undefined || found === 'none' ? null : found.replace('_', ' ');
}

/** The time of the program itself, without preparation and teardown. */
function executedMs(runner: LimitSources['runner']): number | null {
  const phase = runner?.timing?.phases?.find(({ name }) => name === 'execute');
  return phase?.duration_ms ?? null;
}

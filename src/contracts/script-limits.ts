import { durationMs, sizeBytes } from '../base/units.ts';

/**
 * Every limit of a script run: its flag, its key in request.json, its range, its help text and its default. Flags,
 * checks, requests, library options and docs/command-line.md read this table.
 */
export const SCRIPT_LIMITS = {
  timeoutMs: limit({
    flag: '--timeout <time>',
    record: 'timeout_ms',
    name: 'timeout',
    range: ['1s', '10m'],
    default: '60s',
    help: 'stop after this long',
  }),
  idleMs: limit({
    flag: '--idle-timeout <time>',
    record: 'idle_timeout_ms',
    name: 'idle timeout',
    range: ['100ms', '10m'],
    help: 'stop after this long without output',
  }),
  memoryBytes: limit({
    flag: '--memory <size>',
    record: 'memory_bytes',
    name: 'memory limit',
    range: ['16m', '1024g'],
    default: '1g',
    help: 'memory limit for all processes, including files in the work folder',
  }),
  cpuSeconds: limit({
    flag: '--cpu-seconds <seconds>',
    record: 'cpu_seconds',
    name: 'CPU time',
    range: ['1', '86400'],
    help: 'CPU time limit for all processes',
  }),
  cpus: limit({
    flag: '--cpus <number>',
    record: 'cpus',
    name: 'CPU share',
    range: ['0.01', '1024'],
    help: 'CPU cores at once, such as 0.5 or 2; requires control groups',
  }),
  pids: limit({
    flag: '--pids <count>',
    record: 'pids',
    name: 'number of processes',
    range: ['1', '100000'],
    default: '256',
    help: 'maximum number of processes at once',
  }),
  outputFilesMax: limit({
    flag: '--max-files <count>',
    record: 'max_output_files',
    name: 'number of output files',
    range: ['1', '10000'],
    default: '1000',
    help: 'maximum number of files in output/',
  }),
  outputBytesMax: limit({
    flag: '--max-bytes <size>',
    record: 'max_total_output_bytes',
    name: 'output limit',
    range: ['1k', '1g'],
    default: '500m',
    help: 'maximum total size of output/',
  }),
} as const;

export type ScriptLimit = keyof typeof SCRIPT_LIMITS;

/** Values of script limits, in the unit of each name. */
export type ScriptLimitValues = { readonly [Limit in ScriptLimit]?: number };

export const SCRIPT_LIMIT_NAMES = Object.keys(SCRIPT_LIMITS) as readonly ScriptLimit[];

/** The requested limits, as request.json states them; null for a default. */
export function limitsRecord(values: ScriptLimitValues): ScriptLimitsRecord {
  return Object.fromEntries(
    SCRIPT_LIMIT_NAMES.map(limit => [SCRIPT_LIMITS[limit].record, values[limit] ?? null]),
  ) as ScriptLimitsRecord;
}

/** The limits in such a record. */
export function limitsOfRecord(
  record: { readonly [Key in keyof ScriptLimitsRecord]?: number | null | undefined },
): ScriptLimitValues {
  const given = SCRIPT_LIMIT_NAMES.map(limit => [limit, record[SCRIPT_LIMITS[limit].record]] as const);
  return Object.fromEntries(given.filter(([, value]) => typeof value === 'number'));
}

type ScriptLimitsRecord = { [Limit in ScriptLimit as (typeof SCRIPT_LIMITS)[Limit]['record']]: number | null };

/** The help text of a limit, with its range and its default. */
export function limitHelp(name: ScriptLimit): string {
  const { help, range, default: usual }: WrittenLimit = SCRIPT_LIMITS[name];
  return `${help} (${range.join(' to ')}${usual === undefined ? '' : `; default: ${usual}`})`;
}

/** A limit as people write it. */
export interface WrittenLimit {
  /** The word in angle brackets says how its values are written. */
  readonly flag: `--${string} <${'time' | 'size' | 'count' | 'seconds' | 'number'}>`;
  /** Its key in request.json. */
  readonly record: string;
  readonly name: string;
  readonly range: readonly [minimum: string, maximum: string];
  readonly default?: string;
  readonly help: string;
}

/** Adds the range and the default as numbers, and the message for a value out of range. */
function limit<const Written extends WrittenLimit>(written: Written) {
  const { flag, name, range, default: usual } = written;
  const valueOf = flag.endsWith('<time>') ? durationMs : flag.endsWith('<size>') ? sizeBytes : Number;
  const unit = flag.endsWith('<seconds>') ? ' seconds' : '';
  return {
    ...written,
    minimum: valueOf(range[0]),
    maximum: valueOf(range[1]),
    usual: (usual === undefined ? undefined : valueOf(usual)) as Written['default'] extends string ? number : undefined,
    outside: `The ${name} must be from ${range[0]} to ${range[1]}${unit}.`,
  };
}

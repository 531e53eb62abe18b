import * as z from 'zod/mini';
import { nameText } from '../agent-step/words.ts';
import { claimsShape } from './claims.ts';
import { maskingShape } from './masking.ts';
import { codeWord, contentHashText, correlationText, count, instant, record, signalName, wordyText } from '../shape.ts';

const exitCode = (minimum: number, maximum: number) => z.int().check(z.gte(minimum), z.lte(maximum));

const status = () => z.enum(['succeeded', 'failed', 'timed_out']);

export const endingShape = z.union([
  record({ how: z.literal('exited'), code: exitCode(0, 255) }),
  record({ how: z.literal('signalled'), signal: signalName() }),
  record({
    how: z.literal('killed'),
    by: z.enum(['timeout', 'idle', 'cpu', 'cancel', 'policy']),
    signal: signalName(),
  }),
  record({ how: z.literal('out_of_memory'), code: exitCode(0, 255) }),
  record({ how: z.literal('not_started'), code: exitCode(126, 127) }),
  record({ how: z.literal('lost') }),
]);

/** The mechanism that enforced a limit. */
const holder = () => z.enum(['cgroup_v1', 'cgroup_v2', 'rlimit', 'none']);

export const streamsShape = z
  .array(
    record({
      name: z.enum(['stdout', 'stderr']),
      bytes_total: count(),
      /** The hash of the whole masked stream, even if only part of it was kept. */
      sha256: contentHashText(),
      bytes_kept: count(),
      truncated: z.boolean(),
      /** The number of masked ranges. */
      masked: count(),
    }),
  )
  .check(z.maxLength(2));

export const enforcementShape = record({
  memory: holder(),
  pids: holder(),
  cpu: holder(),
  output: z.enum(['tmpfs', 'none']),
  seccomp: z.boolean(),
  /** The program did not run as root on the host. */
  user: z.boolean(),
  kill: z.enum(['pid_namespace', 'process_group']),
  /** How strongly each limit was enforced. Absent in old evidence. */
  claims: z.optional(claimsShape),
});

export const observedShape = z
  .array(
    record({
      what: z.enum(['network', 'file_system', 'environment', 'privileges']),
      held: z.boolean(),
      note: z.string(),
    }),
  )
  .check(z.maxLength(100));

export const furtherLimitsShape = record({
  pids: z.nullable(count()),
  idle_timeout_ms: z.nullable(count()),
  open_files: z.nullable(count()),
});

export const usageShape = record({
  cpu_ms: z.nullable(count()),
  memory_peak_bytes: z.nullable(count()),
  /** The number of denied forks. */
  forks_denied: z.nullable(count()),
  /** How cpu_ms and memory_peak_bytes were measured: by the kernel, or by samples of /proc, which can miss peaks. */
  measured_by: z.optional(z.nullable(z.enum(['cgroup', 'samples']))),
});

/** Facts about an interrupted run that Proctor may not know. */
const UNKNOWNS = ['ending', 'usage', 'streams', 'output', 'checks', 'requests', 'workspace'] as const;

/** Present only if `recover` completed the run. */
export const recoveredShape = z.optional(
  record({ at: instant(), unknown: z.array(z.enum(UNKNOWNS)).check(z.maxLength(UNKNOWNS.length)) }),
);

export type RecoveredNote = NonNullable<z.infer<typeof recoveredShape>>;

export const scriptOutcomeShape = record({
  schema_version: z.literal('script-outcome.v1'),
  run_id: nameText(),
  status: status(),
  /** The status in the script's result.json. */
  claimed_status: z.nullable(status()),
  reason: z.nullable(codeWord()),
  public_message: z.nullable(wordyText()),
  correlation_id: correlationText(),
  timeout_source: z.nullable(z.enum(['proctor', 'script'])),
  /** Proctor kept the files in output/ although the run did not succeed. */
  salvaged: z.boolean(),
  ending: endingShape,
  /** The script's unmodified result.json. */
  result: z.nullable(
    record({
      sha256: contentHashText(),
      bytes: count(),
      unknown_keys: z.array(z.string()).check(z.maxLength(1_000)),
    }),
  ),
  streams: streamsShape,
  cuts: z.array(record({ what: codeWord(), bytes_total: count(), bytes_kept: count() })).check(z.maxLength(1_000)),
  /** The parts of the result that Proctor replaced. */
  replaced: z.array(codeWord()).check(z.maxLength(100)),
  artifacts: record({
    files: count(),
    bytes: count(),
    declared_missing: z.array(z.string()).check(z.maxLength(50)),
    undeclared: count(),
    size_mismatches: count(),
  }),
  enforcement: enforcementShape,
  /** The results of a self-test in the same sandbox, one per guarantee. */
  observed: observedShape,
  /** Limits that runner.json has no field for. */
  limits: furtherLimitsShape,
  usage: usageShape,
  recovered: recoveredShape,
  masking: z.optional(maskingShape),
});

export type ScriptOutcome = z.infer<typeof scriptOutcomeShape>;

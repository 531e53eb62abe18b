import * as z from 'zod/mini';
import { nameText } from '../agent-step/words.ts';
import { claimsShape } from './claims.ts';
import { maskingShape } from './masking.ts';
import { contentHashText, correlationText, count, instant, matching, record, wordyText } from '../shape.ts';

const exitCode = (minimum: number, maximum: number) => z.int().check(z.gte(minimum), z.lte(maximum));

const signal = () => matching(/^SIG[A-Z0-9]+$/, 'the name of a signal such as SIGTERM');

const word = () => matching(/^[a-z][a-z0-9_]{0,63}$/, 'a word of lower-case letters, digits and underscores');

const status = () => z.enum(['succeeded', 'failed', 'timed_out']);

/** How the program ended, as one value. */
export const endingShape = z.union([
  record({ how: z.literal('exited'), code: exitCode(0, 255) }),
  record({ how: z.literal('signalled'), signal: signal() }),
  record({
    how: z.literal('killed'),
    by: z.enum(['timeout', 'idle', 'cpu', 'cancel', 'policy']),
    signal: signal(),
  }),
  record({ how: z.literal('out_of_memory'), code: exitCode(0, 255) }),
  record({ how: z.literal('not_started'), code: exitCode(126, 127) }),
  record({ how: z.literal('lost') }),
]);

/** By what a limit was held. */
const holder = () => z.enum(['cgroup_v1', 'cgroup_v2', 'rlimit', 'none']);

export const streamsShape = z
  .array(
    record({
      name: z.enum(['stdout', 'stderr']),
      bytes_total: count(),
      /** Of the whole masked stream, of which less may be kept. */
      sha256: contentHashText(),
      bytes_kept: count(),
      truncated: z.boolean(),
      /** How many ranges were masked. */
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
  /** The program did not run as the machine's root user. */
  user: z.boolean(),
  kill: z.enum(['pid_namespace', 'process_group']),
  /** What each limit was worth over the run. Absent in evidence from before it was told. */
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
  /** How often it was refused another process. */
  forks_denied: z.nullable(count()),
  /** How the first two were measured: counted by the kernel, or summed from samples of /proc, which can miss some. */
  measured_by: z.optional(z.nullable(z.enum(['cgroup', 'samples']))),
});

/** What Proctor may not have seen of a run that was interrupted. */
const UNKNOWNS = ['ending', 'usage', 'streams', 'output', 'checks', 'requests', 'workspace'] as const;

/** Only in the outcome of a run that `recover` completed. */
export const recoveredShape = z.optional(
  record({ at: instant(), unknown: z.array(z.enum(UNKNOWNS)).check(z.maxLength(UNKNOWNS.length)) }),
);

export type RecoveredNote = NonNullable<z.infer<typeof recoveredShape>>;

export const scriptOutcomeShape = record({
  schema_version: z.literal('script-outcome.v1'),
  run_id: nameText(),
  status: status(),
  /** What the script's own result.json said. */
  claimed_status: z.nullable(status()),
  reason: z.nullable(word()),
  public_message: z.nullable(wordyText()),
  correlation_id: correlationText(),
  timeout_source: z.nullable(z.enum(['proctor', 'script'])),
  /** The files in output/ were taken although the run did not succeed. */
  salvaged: z.boolean(),
  ending: endingShape,
  /** The raw result.json as the script left it. */
  result: z.nullable(
    record({
      sha256: contentHashText(),
      bytes: count(),
      unknown_keys: z.array(z.string()).check(z.maxLength(1_000)),
    }),
  ),
  streams: streamsShape,
  cuts: z.array(record({ what: word(), bytes_total: count(), bytes_kept: count() })).check(z.maxLength(1_000)),
  /** What the script said and Proctor did not pass on as it was. */
  replaced: z.array(word()).check(z.maxLength(100)),
  artifacts: record({
    files: count(),
    bytes: count(),
    declared_missing: z.array(z.string()).check(z.maxLength(50)),
    undeclared: count(),
    size_mismatches: count(),
  }),
  enforcement: enforcementShape,
  /** What a self-test in the same sandbox found of each guarantee that was given. */
  observed: observedShape,
  /** Bounds that held besides those in runner.json, which has no place for them. */
  limits: furtherLimitsShape,
  usage: usageShape,
  recovered: recoveredShape,
  masking: z.optional(maskingShape),
});

export type ScriptOutcome = z.infer<typeof scriptOutcomeShape>;

import * as z from 'zod/mini';
import { limitShapes } from '../profile/shape.ts';
import {
  count,
  filledText,
  instant,
  matching,
  record,
  SEMVER,
  semver,
  signalName,
  variableName,
  wordyText,
} from '../shape.ts';

export const runnerShape = record({
  runner_schema_version: z.literal('1.0.0'),
  runner_id: matching(
    /^runner_\d{8}_\d{6}_[a-z0-9]+$/,
    'runner_, a date, a time and a random part: runner_20260106_120000_abc123',
  ),
  runner_version: wordyText(),
  platform: record({
    os: z.enum(['linux', 'darwin', 'win32']),
    arch: z.enum(['x64', 'arm64', 'ia32']),
    node_version: matching(
      new RegExp(SEMVER.source.replace('^', '^v')),
      'v followed by a semantic version, such as v24.11.1',
    ),
    npm_version: semver(),
  }),
  sandbox: record({
    backend: z.enum(['process', 'container', 'vm', 'none']),
    isolation_level: z.enum(['strict', 'standard', 'none']),
    network_blocked: z.boolean(),
    filesystem_readonly: z.boolean(),
  }),
  limits: record({
    ...limitShapes,
    max_memory_bytes: z.optional(z.number().check(z.positive())),
    max_cpu_seconds: z.optional(z.number().check(z.positive())),
  }),
  commands: record({
    allowlist: z.array(z.string()),
    blocklist: z.array(z.string()),
    shell: filledText(),
  }),
  write_roots: z.array(z.string()),
  context: record({
    working_dir: z.literal('.'),
    env_allowlist: z.array(variableName()),
    locale: matching(locale(), 'a locale such as C.UTF-8, en_US.UTF-8 or en-US'),
    timezone: z.string(),
  }),
  timing: record({
    started_at: instant(),
    completed_at: instant(),
    duration_ms: z.number(),
    phases: z.optional(
      z.array(record({ name: z.string(), started_at: instant(), duration_ms: z.number().check(z.gte(0)) })),
    ),
  }),
  exit: record({
    code: count().check(z.lte(255)),
    signal: z.optional(signalName()),
    oom_killed: z.boolean(),
    timeout_killed: z.boolean(),
  }),
  warnings: z.optional(z.array(z.string())),
  ephemeral: z.optional(
    record({
      host_id: z.optional(z.string()),
      session_id: z.optional(z.string()),
      human_notes: z.optional(z.string()),
    }),
  ),
});

export type Runner = z.infer<typeof runnerShape>;

/** Matches `C` and `POSIX`, POSIX names such as `de_DE.UTF-8@euro`, and language tags such as `zh-Hans-CN`. */
function locale(): RegExp {
  const charset = String.raw`(?:\.[A-Za-z0-9_-]{1,32})?`;
  const posix = String.raw`[a-z]{2,3}(?:_(?:[A-Z]{2}|\d{3}))?${charset}(?:@[A-Za-z0-9_=;-]{1,32})?`;
  const tag = String.raw`[a-z]{2,3}(?:-[A-Za-z0-9]{1,8}){1,8}`;
  return new RegExp(`^(?:(?:C|POSIX)${charset}|${posix}|${tag})$`);
}

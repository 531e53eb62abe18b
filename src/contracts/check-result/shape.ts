import * as z from 'zod/mini';
import { nameText } from '../agent-step/words.ts';
import { endingShape, streamsShape } from '../script-outcome/shape.ts';
import {
  between,
  codeWord,
  contentHashText,
  count,
  instant,
  matching,
  record,
  relativePath,
  wordyText,
} from '../shape.ts';

export const CHECK_VERDICTS = ['passed', 'failed', 'did_not_run', 'unknown'] as const;

/** Why Proctor put a file back before the check. */
export const RESTORE_REASONS = [
  'test_file',
  'runner_configuration',
  'package_script',
  'runner_script',
  'program',
  'dependency',
  'report',
] as const;

/** A name that people can type, and that differs from the variable in `NODE_ENV=test npm test`. */
export const checkName = () =>
  matching(/^[a-z][a-z0-9-]{0,39}$/, 'a name of at most 40 lower-case letters, digits and dashes');

const exitCode = () => z.nullable(z.int().check(z.gte(0), z.lte(255)));

const testsShape = record({
  total: count(),
  passed: count(),
  failed: count(),
  skipped: count(),
  /** The names of failed tests, at most 100. */
  failures: z.array(wordyText()).check(z.maxLength(100)),
});

const filesShape = record({
  total: count(),
  listed: z
    .array(
      record({
        path: relativePath(),
        change: z.enum(['added', 'changed', 'deleted']),
        because: z.enum(RESTORE_REASONS),
      }),
    )
    .check(z.maxLength(1_000)),
});

export const checkResultShape = record({
  schema_version: z.literal('check-result.v1'),
  run_id: nameText(),
  name: checkName(),
  command: wordyText(),
  verdict: z.enum(CHECK_VERDICTS),
  reason: codeWord(),
  message: wordyText(),
  /** What the verdict rests on; null if the check did not end. */
  decided_by: z.nullable(z.enum(['exit_code', 'report'])),
  started_at: z.nullable(instant()),
  ended_at: z.nullable(instant()),
  duration_ms: z.nullable(count()),
  ending: z.nullable(endingShape),
  exit_code: exitCode(),
  limits: record({
    timeout_ms: count(),
    memory_bytes: z.nullable(count()),
    pids: z.nullable(count()),
    output_bytes: count(),
    work_bytes: count(),
  }),
  sandbox: record({
    backend: z.enum(['process']),
    isolation_level: z.enum(['strict', 'standard']),
    network_blocked: z.boolean(),
  }),
  streams: streamsShape,
  /** The test report that the check declares; null if only the exit code counts. */
  report: z.nullable(record({ path: relativePath(), format: z.nullable(z.enum(['junit', 'ctrf'])) })),
  tests: z.nullable(testsShape),
  /** The files that the agent never saw. The hash covers their names and contents. */
  overlay: z.nullable(record({ sha256: contentHashText(), files: between(1, 10_000) })),
  /** The paths whose changes count in the second look; null if there is none. */
  paths: z.nullable(z.array(relativePath()).check(z.minLength(1), z.maxLength(100))),
  /** Files that the agent changed and that Proctor put back before the check. */
  restored: filesShape,
  /** Patterns of files that Proctor does not put back; absent if there are none. */
  keep: z.optional(z.array(relativePath()).check(z.minLength(1), z.maxLength(100))),
  /** Files that the agent changed and that Proctor did not put back, because `keep` names them. */
  kept: z.optional(filesShape),
  /** The read-only folders that the check saw. `rehashed` says whether Proctor compared the hash again before it. */
  mounts: z.optional(
    z
      .array(record({ path: relativePath(), sha256: contentHashText(), rehashed: z.boolean() }))
      .check(z.minLength(1), z.maxLength(20)),
  ),
  /** The same check on the base commit with only the agent's changes below `paths`. */
  second_look: z.nullable(
    record({
      verdict: z.enum(CHECK_VERDICTS),
      reason: codeWord(),
      message: wordyText(),
      exit_code: exitCode(),
      tests: z.nullable(testsShape),
    }),
  ),
});

export type CheckResult = z.infer<typeof checkResultShape>;

export type CheckTests = NonNullable<CheckResult['tests']>;

import * as z from 'zod/mini';
import { REASONS } from '../agent-step/reading.ts';
import { reasonFindings, REASON_ASKS } from '../agent-step/reason.ts';
import { nameText, TERMINATIONS, VIOLATION_CLASSES } from '../agent-step/words.ts';
import { CHECK_VERDICTS, checkName, type CheckResult } from '../check-result/shape.ts';
import { CHECKS_MAX } from '../checks/shape.ts';
import { firstRepeated } from '../lists.ts';
import { type Finding, must } from '../rule.ts';
import { codeWord, contentHashText, count, filledText, matching, record, relativePath, wordyText } from '../shape.ts';

/** The limits on listed entries. `total` counts all entries. */
export const VIOLATIONS_LISTED_MAX = 100;
export const CASE_CHANGED_LISTED_MAX = 1_000;
const CASE_FAILURES_LISTED_MAX = 10;

const checkNoteShape = record({
  name: checkName(),
  verdict: z.enum(CHECK_VERDICTS),
  reason: codeWord(),
  message: wordyText(),
  /** Whether the check declares a test report. */
  report: z.boolean(),
  /** Null if there is no readable report. */
  tests: z.nullable(
    record({
      total: count(),
      passed: count(),
      failed: count(),
      skipped: count(),
      failures: z.array(wordyText()).check(z.maxLength(CASE_FAILURES_LISTED_MAX)),
    }),
  ),
  /** How many files Proctor put back before the check. */
  restored: count(),
  /** The hash of the files that the agent never saw; null if there are none. */
  overlay_sha256: z.nullable(contentHashText()),
  /** The same check with only the agent's changes to the declared paths; null if it did not run. */
  second_look: z.nullable(record({ verdict: z.enum(CHECK_VERDICTS), reason: codeWord() })),
});

export type CheckInCase = z.infer<typeof checkNoteShape>;

/** What a case repeats of the result of a check. */
export function checkInCase(result: CheckResult): CheckInCase {
  const { name, verdict, reason, message, report, tests, restored, overlay, second_look } = result;
  return {
    name,
    verdict,
    reason,
    message,
    report: report !== null,
    tests: tests && { ...tests, failures: tests.failures.slice(0, CASE_FAILURES_LISTED_MAX) },
    restored: restored.total,
    overlay_sha256: overlay?.sha256 ?? null,
    second_look: second_look && { verdict: second_look.verdict, reason: second_look.reason },
  };
}

/** What Proctor observed about the agent run that answered a case. */
export const agentRunShape = record({
  run_id: nameText(),
  /** The hash of the run's evidence/seal.json, which identifies the run. */
  seal_sha256: contentHashText(),
  termination: z.enum(TERMINATIONS),
  reason: z.enum(REASONS),
  violations: record({
    total: count(),
    listed: z.array(
      record({
        class: z.enum(VIOLATION_CLASSES),
        operation: z.optional(filledText()),
        path: z.optional(relativePath()),
        hard: z.boolean(),
      }),
    ),
  }),
  /** Reasons to review the run. A flag is not a verdict. */
  flags: z.array(
    record({
      flag: matching(/^[a-z][a-z_]{0,63}$/, 'a name in lower case, such as needs_review'),
      message: wordyText(),
    }),
  ),
  /** The changes to the work tree; null if unknown. */
  changes: z.nullable(
    record({
      files: record({
        total: count(),
        listed: z.array(
          record({
            path: relativePath(),
            change: z.enum(['add', 'update', 'delete']),
            /** Null if the diff does not show the number of lines. */
            added: z.nullable(count()),
            removed: z.nullable(count()),
          }),
        ),
      }),
      added: z.nullable(count()),
      removed: z.nullable(count()),
      commits: z.nullable(count()),
      /** The hash of the diff in the run folder. */
      diff_sha256: contentHashText(),
    }),
  ),
  /** The checks that ran in the tree that the agent left. Absent if there are none. */
  checks: z.optional(z.array(checkNoteShape).check(z.minLength(1), z.maxLength(CHECKS_MAX))),
});

export type AgentRunNote = z.infer<typeof agentRunShape>;

export const AGENT_RUN_ASKS = [
  "agent_run, if present, has run_id (the name of the agent's run) and seal_sha256 (the hash of its evidence/seal.json)",
  'run_id equals that of the last attempt, if it has one',
  `termination is ${TERMINATIONS.slice(0, -1).join(', ')} or ${TERMINATIONS.at(-1)}`,
  ...REASON_ASKS,
  'violations has total and listed; each entry has class and hard, and may have operation and path',
  `class is ${VIOLATION_CLASSES.slice(0, -1).join(', ')} or ${VIOLATION_CLASSES.at(-1)}`,
  'no violation is hard if termination is completed',
  'flags is a list; each entry has flag (a unique lower-case name) and message (not blank)',
  'changes is null, or has files, added, removed, commits and diff_sha256',
  'files has total and listed; each entry has path, change (add, update or delete), added and removed',
  'added, removed and commits are non-negative integers, or null if unknown',
  'each list is complete up to 1,000 files or 100 violations',
  `checks, if present, lists 1 to ${CHECKS_MAX} checks with unique names`,
  `each has name, verdict (${CHECK_VERDICTS.join(', ')}), reason, message, report (true or false) and restored (a count)`,
  'each has tests: null, or total, passed, failed, skipped and failures (at most 10 names); the counts add up',
  'each has overlay_sha256 (null or a hash) and second_look (null, or verdict and reason)',
  'a check with tests declares a report; a passed check has no failed test',
] as const;

/** Checks `agent_run`; `attempted` is the run_id of the last attempt. */
export function* agentRunFindings(run: AgentRunNote, attempted: string | undefined): Generator<Finding> {
  const { run_id, termination, reason, violations, flags, changes } = run;
  if (attempted !== undefined && attempted !== run_id)
    yield must('agent_run.run_id', 'differs from that of the last attempt');
  for (const { path, message } of reasonFindings({ termination, reason })) yield must(`agent_run.${path}`, message);
  if (termination === 'completed' && violations.listed.some(({ hard }) => hard))
    yield must('agent_run.violations', 'must not include a hard violation if the run completed');
  const repeated = firstRepeated(flags.map(({ flag }) => flag));
  if (repeated !== undefined) yield must(`agent_run.flags[${repeated}].flag`, 'is a duplicate');
  if (violations.listed.length !== Math.min(violations.total, VIOLATIONS_LISTED_MAX))
    yield must('agent_run.violations.listed', `must list all violations, up to ${VIOLATIONS_LISTED_MAX}`);
  if (changes && changes.files.listed.length !== Math.min(changes.files.total, CASE_CHANGED_LISTED_MAX))
    yield must('agent_run.changes.files.listed', `must list all files, up to ${CASE_CHANGED_LISTED_MAX}`);
  yield* checkNoteFindings(run.checks ?? []);
}

function* checkNoteFindings(checks: readonly CheckInCase[]): Generator<Finding> {
  const repeated = firstRepeated(checks.map(({ name }) => name));
  if (repeated !== undefined) yield must(`agent_run.checks[${repeated}].name`, 'is a duplicate');
  for (const [index, { verdict, report, tests }] of checks.entries()) {
    if (!tests) continue;
    const at = `agent_run.checks[${index}]`;
    if (!report) yield must(`${at}.tests`, 'requires a check with a report');
    if (tests.passed + tests.failed + tests.skipped !== tests.total)
      yield must(`${at}.tests.total`, 'is not the sum of passed, failed and skipped');
    if (tests.failures.length > tests.failed) yield must(`${at}.tests.failures`, 'lists more tests than failed');
    if (verdict === 'passed' && tests.failed > 0)
      yield must(`${at}.verdict`, 'cannot be passed, because a test failed');
  }
}

/** The agent was denied a write, changed another file, and completed. */
export const agentRunExample: AgentRunNote = {
  run_id: 'agent_20260106_120015_4f1c9a7be210',
  seal_sha256: 'sha256:a1b2c442a8fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8aa',
  termination: 'completed',
  reason: 'ok',
  violations: { total: 1, listed: [{ class: 'native_policy_block', operation: 'Write', hard: false }] },
  flags: [{ flag: 'denied_then_success', message: 'Write was denied, but the last message claims success.' }],
  changes: {
    files: { total: 1, listed: [{ path: 'src/parse.ts', change: 'update', added: 12, removed: 3 }] },
    added: 12,
    removed: 3,
    commits: 0,
    diff_sha256: 'sha256:8012da8bd518707ce096f0575fddcb4a0692642e4b7b25914aae9544a5a2e112',
  },
};

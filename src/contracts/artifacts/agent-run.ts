import * as z from 'zod/mini';
import { REASONS } from '../agent-step/reading.ts';
import { doubtReason, REASON_ASKS } from '../agent-step/reason.ts';
import { nameText, TERMINATIONS, VIOLATION_CLASSES } from '../agent-step/words.ts';
import { firstRepeated } from '../lists.ts';
import { type Finding, must } from '../rule.ts';
import { contentHashText, count, filledText, matching, record, relativePath, wordyText } from '../shape.ts';

/** How much of a run its case lists; `total` counts all. */
export const VIOLATIONS_LISTED_MAX = 100;
export const CHANGED_LISTED_MAX = 1_000;

/** What Proctor saw of the run in which an agent's program worked on a case. */
export const agentRunShape = record({
  run_id: nameText(),
  /** Of evidence/seal.json of that run, so that it cannot be exchanged. */
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
  /** Reasons to look at the run, which are no verdict. */
  flags: z.array(
    record({
      flag: matching(/^[a-z][a-z_]{0,63}$/, 'a name in lower case, such as needs_review'),
      message: wordyText(),
    }),
  ),
  /** What became of the work tree; null where Proctor could not look. */
  changes: z.nullable(
    record({
      files: record({
        total: count(),
        listed: z.array(
          record({
            path: relativePath(),
            change: z.enum(['add', 'update', 'delete']),
            /** Null where the diff does not show it. */
            added: z.nullable(count()),
            removed: z.nullable(count()),
          }),
        ),
      }),
      added: z.nullable(count()),
      removed: z.nullable(count()),
      commits: z.nullable(count()),
      /** Of the diff in the folder of the run. */
      diff_sha256: contentHashText(),
    }),
  ),
});

export type AgentRunNote = z.infer<typeof agentRunShape>;

export const AGENT_RUN_ASKS = [
  "agent_run, if present, has run_id, the name of the agent's run, and seal_sha256, the hash of its evidence/seal.json",
  'run_id is that of the last attempt, where it names one',
  `termination is ${TERMINATIONS.slice(0, -1).join(', ')} or ${TERMINATIONS.at(-1)}`,
  ...REASON_ASKS,
  'violations has total and listed; each entry has class and hard, and may have operation and path',
  `class is ${VIOLATION_CLASSES.slice(0, -1).join(', ')} or ${VIOLATION_CLASSES.at(-1)}`,
  'no violation is hard where termination is completed',
  'flags is a list; each entry has flag, a name in lower case that stands once, and message, which is not blank',
  'changes is null, or has files, added, removed, commits and diff_sha256',
  'files has total and listed; each entry has path, change (add, update or delete), added and removed',
  'added, removed and commits are whole numbers from 0 up, or null where unknown',
  'no list is longer than its total, and none shorter unless it has 1,000 files or 100 violations',
] as const;

/** What is wrong with a run that has its shape; `attempted` is the run that the last attempt names. */
export function* agentRunFindings(run: AgentRunNote, attempted: string | undefined): Generator<Finding> {
  const { run_id, termination, reason, violations, flags, changes } = run;
  if (attempted !== undefined && attempted !== run_id)
    yield must('agent_run.run_id', 'is not that of the last attempt');
  for (const { path, message } of doubtReason({ termination, reason })) yield must(`agent_run.${path}`, message);
  if (termination === 'completed' && violations.listed.some(({ hard }) => hard))
    yield must('agent_run.violations', 'hold a hard one, and the run completed');
  const repeated = firstRepeated(flags.map(({ flag }) => flag));
  if (repeated !== undefined) yield must(`agent_run.flags[${repeated}].flag`, 'is that of an earlier entry');
  if (violations.listed.length !== Math.min(violations.total, VIOLATIONS_LISTED_MAX))
    yield must('agent_run.violations.listed', 'is not as long as its total asks for');
  if (changes && changes.files.listed.length !== Math.min(changes.files.total, CHANGED_LISTED_MAX))
    yield must('agent_run.changes.files.listed', 'is not as long as its total asks for');
}

/** An agent that was denied a write, changed another file, and completed. */
export const agentRunExample: AgentRunNote = {
  run_id: 'agent_20260106_120015_4f1c9a7be210',
  seal_sha256: 'sha256:a1b2c442a8fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8aa',
  termination: 'completed',
  reason: 'ok',
  violations: { total: 1, listed: [{ class: 'native_policy_block', operation: 'Write', hard: false }] },
  flags: [{ flag: 'denied_then_success', message: 'Write was denied, and the last message claims success.' }],
  changes: {
    files: { total: 1, listed: [{ path: 'src/parse.ts', change: 'update', added: 12, removed: 3 }] },
    added: 12,
    removed: 3,
    commits: 0,
    diff_sha256: 'sha256:8012da8bd518707ce096f0575fddcb4a0692642e4b7b25914aae9544a5a2e112',
  },
};

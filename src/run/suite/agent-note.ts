import path from 'node:path';
import { fileHash } from '../../base/file-hash.ts';
import { Fault } from '../../base/fault.ts';
import {
  type AgentRunNote,
  CASE_CHANGED_LISTED_MAX,
  checkInCase,
  VIOLATIONS_LISTED_MAX,
} from '../../contracts/artifacts/index.ts';
import type { AgentOutcome, PolicySummary, PolicyViolation } from '../../contracts/agent-step/index.ts';
import type { WorkspaceStatus } from '../../contracts/workspace/index.ts';
import { AGENT_FILES } from '../../evidence/agent/agent-documents.ts';
import type { AgentFolder } from '../../evidence/agent/agent-folder.ts';
import { diffSummary } from '../../evidence/agent/diff-summary.ts';
import { flagWarnings } from '../../evidence/ingest/flags.ts';
import { SEAL } from '../../evidence/run-folder/finish.ts';
import type { Mask } from '../agent/masked.ts';

export type RunFlag = AgentRunNote['flags'][number];

type KnownRun = Pick<AgentFolder, 'workspace' | 'checks'> & {
  readonly outcome: AgentOutcome;
  readonly policy: PolicySummary;
};

/** Summarizes the agent's run for the case artifact. `claims` are flags about what the agent claims. */
export function agentRunNote(folder: string, run: KnownRun, claims: readonly RunFlag[], mask: Mask): AgentRunNote {
  const { outcome, workspace = null, checks } = run;
  const { violations } = run.policy;
  const seal = fileHash(path.join(folder, SEAL));
  if (seal === undefined) throw new Fault('not_sealed', "The agent's run has no seal, so the case cannot refer to it.");
  return {
    run_id: outcome.run_id,
    seal_sha256: seal,
    termination: outcome.termination,
    reason: outcome.reason,
    violations: {
      total: violations.length,
      listed: violations.slice(0, VIOLATIONS_LISTED_MAX).map(violation => violationNote(violation, mask)),
    },
    flags: flagsOf(outcome, claims, workspace).map(({ flag, message }) => ({ flag, message: mask(message) })),
    changes: workspace && changesOf(folder, workspace),
    ...(checks.length > 0 && { checks: checks.map(checkInCase) }),
  };
}

function violationNote({ class: kind, operation, path: file, hard }: PolicyViolation, mask: Mask): ViolationNote {
  return {
    class: kind,
    ...(operation !== undefined && { operation: mask(operation) }),
    ...(file !== undefined && { path: file }),
    hard,
  };
}

type ViolationNote = AgentRunNote['violations']['listed'][number];

/** Lists each flag once: claims first, then flags from the worktree and the stored files. */
function flagsOf({ masking }: AgentOutcome, claims: readonly RunFlag[], status: WorkspaceStatus | null): RunFlag[] {
  const all: RunFlag[] = [
    ...claims,
    ...counted(
      'needs_review',
      status?.needs_review?.total ?? 0,
      'changed file runs automatically once applied',
      'changed files run automatically once applied',
    ),
    ...counted(
      'ignored_files',
      status?.ignored.total ?? 0,
      'new file is ignored by git and missing from the diff',
      'new files are ignored by git and missing from the diff',
    ),
    ...counted(
      'left_out',
      status?.left_out.total ?? 0,
      'file is missing from the diff',
      'files are missing from the diff',
    ),
    ...flagWarnings(masking?.flagged ?? []).flatMap(warning => {
      const [, flag, message] = /^([a-z][a-z_]{0,63}): (.+)$/s.exec(warning) ?? [];
      return flag === undefined || message === undefined ? [] : [{ flag, message }];
    }),
  ];
  return [...new Map(all.toReversed().map(one => [one.flag, one])).values()].toReversed();
}

function counted(flag: string, count: number, one: string, many: string): RunFlag[] {
  return count === 0 ? [] : [{ flag, message: count === 1 ? `A ${one}.` : `${count} ${many}.` }];
}

/** Paths come from the status, where secrets are masked. A masked path has no line counts. */
function changesOf(folder: string, { changed, commits, diff }: WorkspaceStatus): AgentRunNote['changes'] {
  const summary = diff.cut ? undefined : diffSummary(folder, AGENT_FILES.diff);
  const lines = new Map(summary?.files.map(file => [file.path, file]));
  return {
    files: {
      total: changed.total,
      listed: changed.listed.slice(0, CASE_CHANGED_LISTED_MAX).map(({ path: file, change }) => ({
        path: file,
        change,
        added: lines.get(file)?.added ?? null,
        removed: lines.get(file)?.removed ?? null,
      })),
    },
    added: summary?.added ?? null,
    removed: summary?.removed ?? null,
    commits: commits.total,
    diff_sha256: diff.sha256,
  };
}

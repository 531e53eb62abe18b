import { Fault } from '../base/fault.ts';
import type { ReviewedPath, Signature } from '../contracts/agent-step/changes.ts';
import type { EffectivePolicy } from '../contracts/agent-step/policy.ts';
import type { WorkspaceStatus } from '../contracts/workspace/index.ts';
import { applyToBranch, type NewCommit } from '../execute/worktree/apply-branch.ts';
import { pathBan } from '../policy/agent-violations.ts';

/** What a sealed run says about its changes. */
export interface SealedChanges {
  readonly status: WorkspaceStatus;
  readonly diff: Buffer;
  /** The diffs of the agent's commits, one after the other; null if the run does not have them. */
  readonly series: Buffer | null;
  readonly policy: EffectivePolicy;
  readonly endedAt: string;
}

export interface BranchRequest {
  readonly runId: string;
  readonly name: string;
  readonly isTrial: boolean;
  readonly allowActive: readonly string[];
}

export interface BranchAnswer {
  /** Null if there is nothing to put on a branch. */
  readonly branch: { readonly name: string; readonly tip: string; readonly commits: number } | null;
  readonly needsReview: readonly ReviewedPath[];
  readonly notes: readonly string[];
}

/** Brings the agent's commits to a new branch. Uncommitted changes become one more commit, which names the run. */
export async function branchMade(
  { status, diff, series, policy, endedAt }: SealedChanges,
  dir: string,
  { runId, name, isTrial, allowActive }: BranchRequest,
): Promise<BranchAnswer> {
  if (status.kind !== 'clone')
    throw new Fault(
      'not_applied',
      'The agent worked on a copy of a folder, not on a commit, so a branch cannot start there. Run proctor apply without --branch.',
    );
  if (status.base.from_sha !== undefined)
    throw new Fault(
      'not_applied',
      'Proctor added files to the commit before the agent started, so no branch can start there. Run proctor apply without --branch.',
    );
  const commits = commitsIn(status, series);
  if (commits.length === 0 && diff.length === 0) return { branch: null, needsReview: [], notes: [] };
  const date = `${Math.floor(Date.parse(endedAt) / 1_000)} +0000`;
  const by: Signature = { name: 'proctor-agent', email: 'agent@proctor.invalid', date };
  const message = `${commits.length > 0 ? 'Uncommitted changes' : 'Changes'} of the Proctor run ${runId}\n`;
  const {
    tip,
    commits: count,
    needsReview,
  } = await applyToBranch(dir, {
    branch: name,
    base: status.base.sha,
    commits,
    whole: { diff, message, author: by, committer: by },
    isTrial,
    allowActive,
    whyNot: pathBan(policy),
  });
  return { branch: { name, tip, commits: count }, needsReview, notes: notesOf(status, commits.length) };
}

function commitsIn({ commits: { series } }: WorkspaceStatus, diffs: Buffer | null): NewCommit[] {
  let at = 0;
  return (diffs ? (series?.listed ?? []) : []).map(({ author, committer, message, diff_bytes }) => {
    at += diff_bytes;
    return { author, committer, message, diff: (diffs as Buffer).subarray(at - diff_bytes, at) };
  });
}

function notesOf({ commits: { total, series } }: WorkspaceStatus, count: number): string[] {
  if (count === 0 && total === 0) return [];
  if (count === 0) return [`The agent's own commits were left out, ${WHY[series?.why ?? 'unknown']}.`];
  const others = total === null ? null : total - count;
  if (others === null) return ['Some commits of the agent are unreadable and were left out.'];
  return others > 0 ? [`${others} commits on other branches of the agent were left out.`] : [];
}

const WHY = {
  not_linear: 'because they contain a merge or do not start at the base commit',
  too_many: 'because there are more than 200',
  too_large: 'because they exceed 16 MiB',
  unreadable: 'because they are unreadable',
  unknown: 'because the run did not record them',
} as const;

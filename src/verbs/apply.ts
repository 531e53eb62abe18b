import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { bytesHash } from '../base/hash.ts';
import { printable } from '../base/printable.ts';
import { readRegular } from '../base/regular.ts';
import type { ReviewedPath } from '../contracts/agent-step/changes.ts';
import type { AttemptsReport } from '../contracts/attempts.ts';
import type { WorkspaceStatus } from '../contracts/workspace/index.ts';
import { readAgentFolder } from '../evidence/agent/agent-folder.ts';
import { refuseForeign } from '../evidence/run-folder/own-file.ts';
import { notSealed, sealOf } from '../evidence/pack/pack.ts';
import { applyDiff } from '../execute/worktree/apply.ts';
import { verifyFolder } from '../verify/folder.ts';
import { branchMade, type SealedChanges } from './apply-to-branch.ts';
import { attemptGroup, groupNamed } from './attempt-group.ts';
import { checkerIfUsable } from './keys.ts';
import { checkRunWord, refuseUnknown } from './options.ts';
import { firstViolation } from './pack.ts';
import { runFolderOf } from './runs.ts';

export interface ApplyOptions {
  /** The work tree to change; `cwd` by default. */
  readonly dir?: string;
  /** Bring the agent's commits to a new branch of this name. The work tree stays unchanged. */
  readonly branch?: string;
  /** Check whether the changes apply, without applying them. */
  readonly check?: boolean;
  /** Apply even if the agent did not complete its task. */
  readonly anyway?: boolean;
  /** Apply even if a check failed or did not run. */
  readonly allowFailedChecks?: boolean;
  /** Exact paths of files to apply even though they run automatically. */
  readonly allowActive?: readonly string[];
  readonly cwd?: string;
  readonly signal?: AbortSignal;
}

export interface AppliedRun {
  readonly runId: string;
  /** The ranked attempts, if the word names a group of them or its newest run; else null. */
  readonly attempts: AttemptsReport | null;
  /** False if there was nothing to apply, or with `check`. */
  readonly applied: boolean;
  /** True if the agent worked on a clone of a repository, false if on a copy of a folder. */
  readonly fromClone: boolean;
  readonly changed: WorkspaceStatus['changed'];
  /** The new branch, its last commit and the number of new commits; null without `branch`. */
  readonly branch: { readonly name: string; readonly tip: string; readonly commits: number } | null;
  /** Allowed changes that run automatically, each with the reason. */
  readonly needsReview: readonly ReviewedPath[];
  /** What was not applied or needs attention. */
  readonly notes: readonly string[];
}

/**
 * Applies an agent's changes to a work tree or a new branch, if its run verifies and did not violate its policy. After
 * several attempts, applies those of the winner. The current branch stays unchanged.
 */
export async function applyRun(run: string, options: ApplyOptions = {}): Promise<AppliedRun> {
  checkRunWord('applyRun', run);
  refuseUnknown('applyRun', options, OPTIONS);
  const { check = false, anyway = false, allowFailedChecks = false, allowActive = [] } = options;
  const { cwd = process.cwd(), signal } = options;
  checkPaths(allowActive);
  if (options.branch !== undefined && typeof options.branch !== 'string')
    throw new Fault('usage', 'applyRun requires branch to be a name.');
  const { folder, attempts } = await chosenRun(run, cwd, signal);
  const { run_id: runId, kind } = sealOf(folder)?.statement.predicate ?? {};
  if (runId === undefined || kind === undefined) throw notSealed();
  if (kind !== 'agent')
    throw refused(
      `${printable(runId)} is not an agent run, so it has no changes to apply. Name a run from \`proctor list\`.`,
    );
  const trouble = await firstViolation(verifyFolder(folder, {}), signal);
  if (trouble !== undefined) {
    throw new Fault('not_valid', `Cannot apply ${printable(runId)}, because it does not verify: ${trouble}`);
  }
  refuseForeign(folder);
  if (!allowFailedChecks) refuseFailedChecks(folder);
  const changes = readChanges(folder, anyway);
  const { status, diff } = changes;
  const fromClone = status.kind === 'clone';
  const answer = { runId, attempts, fromClone, changed: status.changed, branch: null, notes: notesOf(status) };
  const dir = path.resolve(cwd, options.dir ?? '.');
  if (options.branch !== undefined) {
    const { branch, needsReview, notes } = await branchMade(changes, dir, {
      runId,
      name: options.branch,
      isTrial: check,
      allowActive,
    });
    return { ...answer, branch, applied: branch !== null && !check, needsReview, notes: [...answer.notes, ...notes] };
  }
  if (status.changed.total === 0) return { ...answer, applied: false, needsReview: [] };
  const needsReview = await applyDiff(diff, dir, {
    fromTop: fromClone,
    isTrial: check,
    allowActive,
    ...(fromClone && !anyway && { base: status.base.from_sha ?? status.base.sha }),
  });
  return { ...answer, applied: !check, needsReview };
}

/** The run that the word names. If it names attempts, the winner among them, after all of them verify. */
async function chosenRun(
  word: string,
  cwd: string,
  signal: AbortSignal | undefined,
): Promise<{ readonly folder: string; readonly attempts: AttemptsReport | null }> {
  const group = groupNamed(word, cwd);
  if (group === undefined) return { folder: runFolderOf(cwd, word).folder, attempts: null };
  const { report, folders } = await attemptGroup(group, cwd, checkerIfUsable(cwd, undefined), signal);
  const folder = report.winner && folders.get(report.winner.attempt);
  if (!folder)
    throw refused(
      `No attempt of ${group} wins. ${report.why} Run proctor show ${group}. To apply one anyway, name its run.`,
    );
  return { folder, attempts: report };
}

function checkPaths(paths: unknown): void {
  if (Array.isArray(paths) && paths.every(each => typeof each === 'string')) return;
  throw new Fault('usage', 'applyRun requires allowActive to be a list of paths.');
}

const OPTIONS: Record<keyof ApplyOptions, true> = {
  dir: true,
  branch: true,
  check: true,
  anyway: true,
  allowFailedChecks: true,
  allowActive: true,
  cwd: true,
  signal: true,
};

/** Throws if a check of the run did not pass. */
function refuseFailedChecks(folder: string): void {
  const { request, checks } = readAgentFolder(folder);
  const failed = checks.find(({ verdict }) => verdict !== 'passed');
  if (failed)
    throw refused(
      `The check ${failed.name} did not pass: ${printable(failed.message)} Use --allow-failed-checks to apply the changes.`,
    );
  if (checks.length !== (request?.checks ?? []).length)
    throw refused('The run has no result for one of its checks. Run the agent again.');
}

/** The changes in a sealed folder. Throws if they must not be applied. */
function readChanges(folder: string, anyway: boolean): SealedChanges {
  const { result, policy, workspace: status, runnerMetadata } = readAgentFolder(folder);
  if (!result || !policy || !status || !runnerMetadata)
    throw refused('The run does not record what the agent changed, or under which policy.');
  const broken = policy.violations.find(({ hard }) => hard);
  if (broken) throw refused(`The agent violated its policy: ${printable(broken.message)}`);
  if (result.termination === 'killed_policy')
    throw refused('Proctor stopped the agent because it violated its policy.');
  if (result.termination !== 'completed' && !anyway) {
    throw refused(`The agent did not complete its task: ${result.termination}. Use --anyway to apply its changes.`);
  }
  if (status.diff.cut) throw refused("The run's diff is truncated, because the changes were too large to keep.");
  const series = status.commits.series?.diff;
  return {
    status,
    diff: sealedBytes(folder, status.diff),
    series: series ? sealedBytes(folder, series) : null,
    policy: policy.effective,
    endedAt: runnerMetadata.ended_at,
  };
}

function sealedBytes(folder: string, { path: file, sha256 }: { path: string; sha256: string }): Buffer {
  const bytes = readRegular(path.join(folder, file), DIFF_BYTES_MAX);
  // Check again, because the folder may have changed since it was verified.
  if (!bytes || bytesHash(bytes) !== sha256) throw refused("The run's diff cannot be read.");
  return bytes;
}

/** Larger than any complete diff. */
const DIFF_BYTES_MAX = 128 * 1024 * 1024;

function refused(message: string): Fault {
  return new Fault('not_applied', message);
}

function notesOf({ links_out, left_out, nested_repositories, submodules, hooks }: WorkspaceStatus): string[] {
  const said: [{ total: number; listed: readonly unknown[] }, string][] = [
    [links_out, 'links point outside the tree'],
    [left_out, 'entries were left out, because a diff cannot represent them'],
    [nested_repositories, 'folders were nested repositories; their files are applied, their history is not'],
    [submodules, 'submodule changes were left out'],
    [hooks, 'git hooks were left out'],
  ];
  return said.filter(([{ total }]) => total > 0).map(([{ total }, words]) => `${total} ${words}.`);
}

import { contentHash } from '../../base/hash.ts';
import type { AttemptRow } from '../../contracts/attempts.ts';
import type { TaskAttempt } from '../../contracts/agent-step/attempt.ts';
import type { CheckResult } from '../../contracts/check-result/index.ts';
import type { Checker } from '../../contracts/seal/index.ts';
import { type AgentFolder, fileOf, readAgentFolder } from '../../evidence/agent/agent-folder.ts';
import { diffSummary } from '../../evidence/agent/diff-summary.ts';
import { agentEvaluationOf } from './judge-agent.ts';

/** One attempt as its sealed run states it. */
export interface ReadAttempt {
  readonly row: AttemptRow;
  readonly asked: TaskAttempt;
  /** The hash of what attempts must have in common: the task and the checks with their hidden files. */
  readonly exam: string;
  readonly baseSha: string | null;
}

/** Reads an attempt from its sealed folder; undefined if the folder contains no complete attempt. */
export function readAttempt(folder: string, key: Checker | undefined): ReadAttempt | undefined {
  const run = readAgentFolder(folder);
  const { request, outcome, policy, metadata } = run;
  if (!request?.attempt || !outcome || !policy) return undefined;
  const hard = policy.violations.filter(violation => violation.hard).length;
  const { started_at: from, ended_at: to } = metadata ?? {};
  const { counted } = outcome.model_access;
  const row: AttemptRow = {
    attempt: request.attempt.number,
    run_id: outcome.run_id,
    termination: outcome.termination,
    reason: outcome.reason,
    violations: { hard, soft: policy.violations.length - hard },
    checks: {
      passed: run.checks.filter(({ verdict }) => verdict === 'passed').length,
      total: request.checks?.length ?? 0,
    },
    tests: testsIn(run.checks),
    diff: diffIn(folder, run),
    // Prefer the count of the model proxy, because the agent's own number is only a claim.
    cost_usd: counted?.cost_usd ?? outcome.reported.cost_usd,
    duration_ms: from !== undefined && to !== undefined ? Date.parse(to) - Date.parse(from) : null,
    flags: [
      ...new Set(agentEvaluationOf(folder, key).evaluation.flags.map(({ flag }) => flag)),
      ...((run.workspace?.needs_review?.total ?? 0) > 0 ? ['needs_review'] : []),
    ],
  };
  return { row, asked: request.attempt, exam: examOf(run), baseSha: run.workspace?.base.sha ?? null };
}

function testsIn(checks: readonly CheckResult[]): AttemptRow['tests'] {
  const known = checks.flatMap(({ tests }) => tests ?? []);
  if (known.length === 0) return null;
  const sum = (of: 'passed' | 'failed'): number => known.reduce((total, tests) => total + tests[of], 0);
  return { passed: sum('passed'), failed: sum('failed') };
}

function diffIn(folder: string, { manifest, workspace }: AgentFolder): AttemptRow['diff'] {
  const file = fileOf(manifest, 'workspace_diff');
  if (file === undefined || !workspace || workspace.diff.cut) return null;
  const summary = diffSummary(folder, file, 0);
  return summary ? { files: summary.total, added: summary.added, removed: summary.removed } : null;
}

function examOf({ request, checks }: AgentFolder): string {
  return contentHash({
    task: request?.rendered_task_text ?? null,
    checks: checks.map(({ name, command, overlay, paths, report, keep }) => ({
      name,
      command,
      overlay,
      paths,
      report: report?.path ?? null,
      keep: keep ?? null,
    })),
  });
}

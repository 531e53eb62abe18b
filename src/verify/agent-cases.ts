import path from 'node:path';
import { canonicalize } from '../base/canonical.ts';
import type { AgentOutcome, PolicySummary } from '../contracts/agent-step/index.ts';
import {
  type AgentRunNote,
  type CaseArtifact,
  checkInCase,
  type CheckInCase,
  VIOLATIONS_LISTED_MAX,
} from '../contracts/artifacts/index.ts';
import type { CheckResult } from '../contracts/check-result/index.ts';
import type { WorkspaceStatus } from '../contracts/workspace/index.ts';
import { SEAL } from '../evidence/run-folder/finish.ts';
import { FOLDER_RULES } from './folder-rules.ts';
import type { Inspector, Surroundings } from './inspector.ts';
import { above } from './walk.ts';

/** The facts of an agent run that its case repeats. */
interface Run {
  readonly folder: string;
  readonly outcome: Pick<AgentOutcome, 'termination' | 'reason'>;
}

type Classes = readonly PolicySummary['violations'][number]['class'][];

/** FD13: compares a case with the agent run that answered it, if both are in the folder. */
export function agentCaseInspector({ hashOf, report }: Surroundings): Inspector {
  const told = new Map<string, AgentRunNote>();
  const runs = new Map<string, Run>();
  /** By run folder. */
  const violations = new Map<string, Classes>();
  const checks = new Map<string, readonly CheckInCase[]>();
  const trees = new Map<string, { readonly files: number; readonly diff: string }>();

  function* unlike(note: AgentRunNote, { folder, outcome }: Run): Generator<string> {
    if (hashOf(path.posix.join(folder, SEAL)) !== note.seal_sha256) yield 'seal_sha256';
    if (outcome.termination !== note.termination) yield 'termination';
    if (outcome.reason !== note.reason) yield 'reason';
    const classes = violations.get(folder);
    const listed = note.violations.listed.map(({ class: kind }) => kind).join();
    const isSame =
      classes?.length === note.violations.total && classes.slice(0, VIOLATIONS_LISTED_MAX).join() === listed;
    if (classes && !isSame) yield 'violations';
    if (textOf(checks.get(folder) ?? []) !== textOf(note.checks ?? [])) yield 'checks';
    const tree = trees.get(folder);
    if (!tree) return;
    if (tree.diff !== note.changes?.diff_sha256 || tree.files !== note.changes.files.total) yield 'changes';
  }

  return {
    take({ file, contract, value }) {
      if (contract.name === 'case') {
        const { agent_run: note } = value as CaseArtifact;
        if (note) told.set(file, note);
      }
      if (contract.name === 'agent-outcome') {
        const { run_id, termination, reason } = value as AgentOutcome;
        runs.set(run_id, { folder: above(file, 1) ?? '', outcome: { termination, reason } });
      }
      const folder = above(file, 3);
      if (folder === undefined) return;
      if (contract.name === 'check-result')
        checks.set(folder, [...(checks.get(folder) ?? []), checkInCase(value as CheckResult)]);
      if (contract.name === 'policy-summary')
        violations.set(
          folder,
          (value as PolicySummary).violations.map(({ class: kind }) => kind),
        );
      if (contract.name === 'workspace-status') {
        const { changed, diff } = value as WorkspaceStatus;
        trees.set(folder, { files: changed.total, diff: diff.sha256 });
      }
    },

    end() {
      for (const [file, note] of told) {
        const run = runs.get(note.run_id);
        if (!run) continue;
        for (const key of unlike(note, run)) {
          const at = `agent_run.${key}`;
          report({ rule: FOLDER_RULES.FD13.id, level: 'must', file, at, message: UNLIKE });
        }
      }
    },
  };
}

/** The verifier reads checks in the order of their folders. */
function textOf(checks: readonly CheckInCase[]): string {
  return canonicalize([...checks].sort((a, b) => (a.name < b.name ? -1 : 1)));
}

const UNLIKE = 'differs from the evidence of the agent run';

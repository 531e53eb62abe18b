import { unknownPartsText } from '../../contracts/script-outcome/unknown-parts.ts';
import type { AgentEvaluation } from '../../contracts/agent-evaluation/index.ts';
import type { TranscriptLine } from '../../contracts/agent-step/reading.ts';
import type { Checker } from '../../contracts/seal/index.ts';
import type { WorkspaceStatus } from '../../contracts/workspace/index.ts';
import { type AgentFolder, fileOf } from '../../evidence/agent/agent-folder.ts';
import type { AgentPlan } from '../../evidence/agent/agent-run.ts';
import type { PlannedPolicy } from '../../evidence/agent/planned-policy.ts';
import { agentChecks } from './agent-checks.ts';
import { agentDiff } from './agent-diff.ts';
import { agentEvidence } from './agent-evidence.ts';
import { agentFacts } from './agent-facts.ts';
import type { AgentClaims, AgentDiff, AgentPage, CutText } from './agent-page-data.ts';
import { agentPolicyPart } from './agent-policy.ts';
import { agentCommands, agentReview } from './agent-review.ts';
import { type FoldedRows, foldedRows, type TurnInput } from './agent-rows.ts';
import { agentTop } from './agent-top.ts';
import { agentUsage } from './agent-usage.ts';
import type { SmallPage } from './page-kinds.ts';
import { amount, lineOf } from './page-words.ts';

/** What `proctor show` knows about an agent run, and its transcript. */
export interface AgentPageInput extends AgentFolder {
  readonly place: { readonly id: string; readonly folder: string };
  /** The run's name on the command line. */
  readonly name: string;
  readonly life: AgentPage['life'];
  readonly plan: Pick<AgentPlan, 'asked' | 'agent' | 'startedAtMs'> | undefined;
  /** The policy and the limits of an unfinished run. */
  readonly planned: PlannedPolicy | undefined;
  readonly needsReview: NonNullable<WorkspaceStatus['needs_review']> | undefined;
  readonly evaluation: AgentEvaluation | undefined;
  /** Why the stored evaluation was not used; null if it was. */
  readonly judgement: { readonly message: string | null } | undefined;
  readonly isWhole: boolean;
  readonly keyIds: readonly string[] | null;
  /** The key that the signature is checked with. */
  readonly key: Checker | undefined;
  readonly lines: Iterable<TranscriptLine>;
  readonly turns: Iterable<TurnInput>;
}

/** The page of an agent run. It shows only what the run folder contains, and nothing from `evidence/internal/`. */
export function agentPage(input: AgentPageInput): SmallPage<'agent'> {
  const { outcome, workspace, manifest, place, request, plan, finalText } = input;
  const folded = foldedRows(input.lines, input.turns);
  const diff = agentDiff({
    folder: place.folder,
    file: fileOf(manifest, 'workspace_diff'),
    workspace,
    withheld: withheldBecause(input),
  });
  const review = agentReview(input);
  const task = request?.rendered_task_text ?? plan?.asked.rendered_task_text;
  const data: AgentPage = {
    life: input.life,
    notes: notesOf(input),
    facts: agentFacts(input),
    task: task === undefined ? null : cutText(task),
    response: finalText === undefined ? null : cutText(finalText),
    review,
    commands: agentCommands(input.name, review),
    rows: folded.rows,
    omitted: folded.omitted,
    calls: folded.calls,
    endMs: folded.endMs,
    diff,
    checks: agentChecks(input, withheldBecause(input)),
    policy: agentPolicyPart(input),
    usage: agentUsage(outcome, folded),
    claims: claimsOf(input, diff, folded),
    evidence: agentEvidence(input),
  };
  return { kind: 'agent', top: agentTop(input, diff), data };
}

/** A declared secret in the diff cannot be masked here, because its value is not in the run folder. */
function withheldBecause({ outcome, manifest }: AgentPageInput): string | null {
  const file = fileOf(manifest, 'workspace_diff');
  const isFlagged = outcome?.masking?.flagged.some(({ path, code }) => path === file && code === 'secret_in_file');
  return isFlagged
    ? `The diff contains a declared secret, so this page leaves out its text. Read it in ${file} in the run folder.`
    : null;
}

const TEXT_UNITS_MAX = 64_000;

function cutText(text: string): CutText {
  return text.length <= TEXT_UNITS_MAX
    ? { text }
    : { text: text.slice(0, TEXT_UNITS_MAX).toWellFormed(), total: Buffer.byteLength(text) };
}

function notesOf({ outcome, life, isWhole, judgement }: AgentPageInput): string[] {
  const { recovered } = outcome ?? {};
  const unknown = unknownPartsText(recovered?.unknown ?? []);
  return [
    ...(life === 'alive' ? ['The agent is still running. This page shows what it has recorded so far.'] : []),
    ...(life === 'dead'
      ? ['The run was interrupted. Run proctor recover to complete its evidence, then open its page again.']
      : []),
    ...(life === 'foreign' || life === 'unknown'
      ? ['The run is not finished, and you did not start it on this machine.']
      : []),
    ...(life === 'finished' && !isWhole
      ? ['The run folder does not verify, so do not rely on this page. Run proctor verify for details.']
      : []),
    ...(recovered
      ? [`Proctor was interrupted before it sealed the run. Unknown: ${unknown === '' ? 'nothing' : unknown}.`]
      : []),
    ...(judgement?.message ? [judgement.message] : []),
  ];
}

/** The agent's claims beside what Proctor saw. */
function claimsOf({ evaluation, workspace }: AgentPageInput, diff: AgentDiff, folded: FoldedRows): AgentClaims {
  const { calls, lastCommand } = folded;
  const commits = diff.commitsTotal;
  const firstDenied = folded.rows.find(({ state }) => state === 'denied')?.seq ?? null;
  const firstFailed = folded.rows.find(({ kind, state }) => kind === 'call' && state === 'failed')?.seq ?? null;
  const changed = workspace
    ? diff.total === 0
      ? 'No file changed.'
      : `${amount(diff.total, 'file')} changed: +${diff.added} −${diff.removed} lines.`
    : 'What changed is unknown.';
  return {
    flags: evaluation ? evaluation.flags.map(({ flag, message, seq }) => ({ flag, message, seq })) : null,
    note: evaluation ? null : 'The claims are not judged, because the run is not finished.',
    effects: [
      { text: changed, seq: null },
      ...(commits ? [{ text: `${amount(commits, 'commit')} in the clone.`, seq: null }] : []),
      ...(lastCommand
        ? [
            {
              text: `Last command: ${lineOf(lastCommand.about, 120)} ${endText(lastCommand)}`,
              seq: lastCommand.seq,
            },
          ]
        : []),
      ...(calls.failed > 0 ? [{ text: `${amount(calls.failed, 'tool call')} failed.`, seq: firstFailed }] : []),
      ...(calls.denied > 0 ? [{ text: `${amount(calls.denied, 'tool call')} denied.`, seq: firstDenied }] : []),
    ],
  };
}

function endText({ state, exit }: NonNullable<FoldedRows['lastCommand']>): string {
  if (state === 'ok') return 'succeeded.';
  if (state === 'denied') return 'was denied.';
  return exit === null ? 'failed.' : `failed with exit code ${exit}.`;
}

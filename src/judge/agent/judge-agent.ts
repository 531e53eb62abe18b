import path from 'node:path';
import { canonicalize } from '../../base/canonical.ts';
import { type Clock, instantText, systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { fileHash } from '../../base/file-hash.ts';
import { VERSION } from '../../base/version.ts';
import { agentEvaluation as contract, type AgentEvaluation } from '../../contracts/agent-evaluation/index.ts';
import type { Checker, Signer } from '../../contracts/seal/index.ts';
import { type AgentFolder, readAgentFolder, transcriptLines } from '../../evidence/agent/agent-folder.ts';
import { evaluationIn, findEvaluation, writeEvaluationFiles } from '../../evidence/judgement/evaluation-files.ts';
import { SEAL } from '../../evidence/run-folder/finish.ts';
import type { Untrusted } from '../../evidence/judgement/judgement.ts';
import { checkFlags } from './check-flags.ts';
import { claimsAgainstEffects, type Effects } from './claims.ts';

/** Judges an agent's sealed run from its folder. Writes the evaluation and its seal, and replaces an older one. */
export async function judgeAgentRun(
  folder: string,
  signer: Signer | undefined,
  clock: Clock = systemClock,
): Promise<AgentEvaluation> {
  const evaluation = evaluateAgent(folder, clock);
  writeEvaluationFiles(folder, canonicalize(evaluation), evaluation, signer);
  return evaluation;
}

/** The evaluation of an agent's claims, and whether the stored one could be trusted. */
export interface JudgedAgent {
  readonly evaluation: AgentEvaluation;
  readonly found: { readonly state: 'none' | 'sound' } | Untrusted;
}

/** The stored evaluation if it matches the run's seal and this version, else a new one. Writes nothing. */
export function agentEvaluationOf(folder: string, key: Checker | undefined): JudgedAgent {
  const found = findEvaluation(folder, contract, key);
  const known = found.state === 'sound' ? evaluationIn(found, contract) : found;
  if (!('run_id' in known)) return { evaluation: evaluateAgent(folder), found: known };
  const isOurs = known.judge_version === VERSION;
  return {
    evaluation: isOurs ? (known as AgentEvaluation) : evaluateAgent(folder),
    found: { state: 'sound' },
  };
}

/** The evaluation of a sealed run. Writes nothing, and does not look at a stored one. */
export function evaluateAgent(folder: string, clock: Clock = systemClock): AgentEvaluation {
  const run = readAgentFolder(folder);
  const sealSha256 = fileHash(path.join(folder, SEAL));
  if (sealSha256 === undefined)
    throw new Fault('not_sealed', 'Cannot judge the run: it has no seal, so nothing proves that it is complete.');
  if (!run.outcome) throw new Fault('unreadable_run', 'Cannot judge the folder: it does not contain an agent run.');
  return {
    schema_version: 'agent-evaluation.v1',
    run_id: run.outcome.run_id,
    generated_at: instantText(clock.now()),
    judge_version: VERSION,
    seal_sha256: sealSha256,
    flags: [...claimsAgainstEffects(transcriptLines(folder), effectsIn(run)), ...checkFlags(run.checks)],
  };
}

/** What was found in the work tree, independent of the agent's claims. */
function effectsIn(run: AgentFolder): Effects {
  const { workspace, finalText, policy } = run;
  const effective = policy?.effective;
  return {
    finalText: finalText ?? null,
    changed: workspace ? workspace.changed.listed.map(file => file.path) : null,
    besides: workspace ? workspace.ignored.total + workspace.left_out.total + workspace.hooks.total : 0,
    commits: workspace?.commits.total ?? workspace?.commits.listed.length ?? null,
    mayWrite: effective?.execution_posture === 'workspace_write',
    allowedPaths: effective?.allowed_paths ?? ['.'],
  };
}

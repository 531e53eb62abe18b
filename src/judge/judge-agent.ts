import path from 'node:path';
import { removeTorn, writeAtomic } from '../base/atomic.ts';
import { canonicalize } from '../base/canonical.ts';
import { type Clock, instantText, systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { fileHash } from '../base/file-hash.ts';
import { VERSION } from '../base/version.ts';
import { agentEvaluation as contract, type AgentEvaluation } from '../contracts/agent-evaluation/index.ts';
import { type AgentFolder, readAgentFolder, transcriptLines } from '../evidence/agent-folder.ts';
import { SEAL } from '../evidence/finish.ts';
import { documentIn } from '../evidence/read.ts';
import { claimsAgainstEffects, type Effects, foldOf, type TranscriptFold } from './claims.ts';

const EVALUATION = 'evaluation.json';

/**
 * Judges the sealed run of an agent by what lies in its folder, and writes it beside the seal; an older one is replaced.
 * Whoever has heard its transcript says what was in it.
 */
export async function judgeAgentRun(
  folder: string,
  heard?: TranscriptFold,
  clock: Clock = systemClock,
): Promise<AgentEvaluation> {
  const evaluation = evaluateAgent(folder, clock, heard);
  const file = path.join(folder, EVALUATION);
  removeTorn(file, clock.now());
  writeAtomic(file, canonicalize(evaluation));
  return evaluation;
}

/** The evaluation that lies in the folder, if this judge gave it on this seal, else a new one. Writes nothing. */
export function agentEvaluationOf(folder: string, clock: Clock = systemClock): AgentEvaluation {
  const known = documentIn(folder, EVALUATION, contract) as AgentEvaluation | undefined;
  const isOfThisRun = known?.seal_sha256 === fileHash(path.join(folder, SEAL)) && known?.judge_version === VERSION;
  return known && isOfThisRun ? known : evaluateAgent(folder, clock);
}

function evaluateAgent(folder: string, clock: Clock, heard?: TranscriptFold): AgentEvaluation {
  const run = readAgentFolder(folder);
  const sealSha256 = fileHash(path.join(folder, SEAL));
  if (sealSha256 === undefined)
    throw new Fault('not_sealed', 'The run has no seal, so nothing tells whether it is whole. It is not judged.');
  if (!run.outcome)
    throw new Fault('unreadable_run', 'The folder does not hold the run of an agent. It is not judged.');
  return {
    schema_version: 'agent-evaluation.v1',
    run_id: run.outcome.run_id,
    generated_at: instantText(clock.now()),
    judge_version: VERSION,
    seal_sha256: sealSha256,
    flags: claimsAgainstEffects(heard ?? foldOf(transcriptLines(folder)), effectsIn(run)),
  };
}

/** What was found in the work tree, not what the agent says of it. */
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

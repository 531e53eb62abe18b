import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { canonicalize } from '../base/canonical.ts';
import { systemClock } from '../base/clock.ts';
import { bytesHash } from '../base/hash.ts';
import type { Intent } from '../contracts/intent/index.ts';
import { bareNameFault } from '../contracts/script-request/index.ts';
import { type Asked, goalToPlan } from '../run/intent/decide.ts';
import type { IntentOrder } from '../run/intent/intent.ts';
import { judgedRecording, plannerPrompt, recordingOf, replayed } from '../run/intent/propose.ts';
import { IntentFault } from '../run/intent/intent-fault.ts';
import { type AgentRunResult, runAgent } from './run-agent.ts';
import type { RunIntentOptions } from './run-intent.ts';

type Planning = Pick<
  RunIntentOptions,
  'environment' | 'cwd' | 'signingKey' | 'signal' | 'onWait' | 'onWarning' | 'onPlannerEvent'
> & { readonly planner: string; readonly recording: string };

type Proposer = Pick<IntentOrder, 'modelMode' | 'recording' | 'propose' | 'onDecided'>;

/**
 * Lets an agent plan a bare goal. Proctor then decides on the intent as if it replayed the recording, so recording and
 * replaying give the same result. The recording is written after the decision.
 */
export async function recordPlan(
  asked: Omit<Asked, 'propose'>,
  planning: Planning,
): Promise<Proposer & { readonly plannedBy?: AgentRunResult }> {
  const { recording: file, onWarning } = planning;
  checkFree(file);
  const goal = goalToPlan(asked);
  if (!goal) {
    onWarning?.('The planner did not run: the intent already has commands, is refused, or has open questions.');
    return { modelMode: 'none', recording: null };
  }
  const startedAtMs = systemClock.now();
  const plannedBy = await planned(goal, planning);
  const { agent, model, finalResponse, reported, durationMs } = plannedBy;
  const session = recordingOf(goal, {
    adapterId: `${agent.family}@${agent.version}`,
    modelId: model ?? 'unknown',
    response: finalResponse ?? '',
    tokensInput: reported.input_tokens,
    tokensOutput: reported.output_tokens,
    startedAtMs,
    latencyMs: durationMs,
  });
  judgedRecording(session);
  const bytes = Buffer.from(canonicalize(session));
  return {
    modelMode: 'record',
    recording: { bytes, given: { name: path.basename(file), sha256: bytesHash(bytes), bytes: bytes.length } },
    propose: intent => replayed(session, intent),
    onDecided: () => writeNew(file, bytes),
    plannedBy,
  };
}

/** Runs the planner as a separate agent run, read-only, in an empty folder, with access only to its model. */
async function planned(goal: Intent, planning: Planning): Promise<AgentRunResult> {
  const { planner, recording: _, onPlannerEvent, ...around } = planning;
  const dir = mkdtempSync(path.join(tmpdir(), 'proctor-plan-'));
  try {
    const run = await runAgent({
      ...around,
      agent: planner,
      task: plannerPrompt(goal),
      dir,
      policy: 'read-only',
      needsModel: true,
      ...(onPlannerEvent && { onEvent: onPlannerEvent }),
    });
    if (run.termination === 'completed') return run;
    throw new IntentFault(
      'planner_failed',
      `The planner ${planner} did not complete: ${run.termination} (${run.reason}). Run proctor show ${run.runId} for details.`,
      { details: { planner_run_id: run.runId, termination: run.termination, termination_reason: run.reason } },
    );
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Checks the recording file first, because an answer costs time and money. */
function checkFree(file: string): void {
  const name = path.basename(file);
  const trouble = bareNameFault(name);
  if (trouble)
    throw new IntentFault('recording_unusable', `The name of the recording is not allowed in evidence: it ${trouble}.`);
  if (existsSync(file)) throw new IntentFault('recording_unusable', EXISTS);
  if (!existsSync(path.dirname(file)))
    throw new IntentFault('recording_unusable', 'The folder for the recording does not exist. Create it first.');
}

function writeNew(file: string, bytes: Uint8Array): void {
  try {
    writeFileSync(file, bytes, { flag: 'wx' });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST')
      throw new IntentFault('recording_unusable', EXISTS, { cause });
    rmSync(file, { force: true });
    throw new IntentFault('recording_unusable', 'Cannot write the recording.', { cause });
  }
}

const EXISTS = 'The recording file already exists, and Proctor does not overwrite it. Specify another file.';

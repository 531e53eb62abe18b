import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { canonicalize } from '../base/canonical.ts';
import { systemClock } from '../base/clock.ts';
import { bytesHash } from '../base/hash.ts';
import type { Intent } from '../contracts/intent/index.ts';
import { bareNameTrouble } from '../contracts/script-request/index.ts';
import { type Asked, goalToPlan } from '../run/intent/decide.ts';
import type { IntentOrder } from '../run/intent/intent.ts';
import { judgedRecording, plannerPrompt, recordingOf, replayed } from '../run/intent/propose.ts';
import { IntentFault } from '../run/intent/trouble.ts';
import { type AgentRunResult, runAgent } from './run-agent.ts';
import type { RunIntentOptions } from './run-intent.ts';

/** Who plans, and where what it answers is written. */
type Planning = Pick<
  RunIntentOptions,
  'environment' | 'cwd' | 'signingKey' | 'signal' | 'onWait' | 'onWarning' | 'onPlannerEvent'
> & { readonly planner: string; readonly recording: string };

type Proposer = Pick<IntentOrder, 'modelMode' | 'recording' | 'propose' | 'onDecided'>;

/**
 * Lets an agent plan a bare goal. From its answer on, the intent is decided upon as if the recording had been there before:
 * what is recorded now and replayed later is the same. The file is written once the answer has become a decision.
 */
export async function recordPlan(
  asked: Omit<Asked, 'propose'>,
  planning: Planning,
): Promise<Proposer & { readonly plannedBy?: AgentRunResult }> {
  const { recording: file, onWarning } = planning;
  checkFree(file);
  const goal = goalToPlan(asked);
  if (!goal) {
    onWarning?.('The planner was not asked: the intent has commands already, is refused, or must be answered first.');
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

/** A run of its own, with evidence of its own: in an empty folder where it may only read, with no way out but to its model. */
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
      `The planner ${planner} has not come to an end that counts: ${run.termination} (${run.reason}). proctor show ${run.runId} tells more.`,
      { details: { planner_run_id: run.runId, termination: run.termination, termination_reason: run.reason } },
    );
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** An answer costs time and money, so that there is a place for it is known before it is asked for. */
function checkFree(file: string): void {
  const name = path.basename(file);
  const trouble = bareNameTrouble(name);
  if (trouble)
    throw new IntentFault('recording_unusable', `The recording has a name that evidence cannot hold: it ${trouble}.`);
  if (existsSync(file)) throw new IntentFault('recording_unusable', EXISTS);
  if (!existsSync(path.dirname(file)))
    throw new IntentFault('recording_unusable', 'The folder in which the recording is to lie does not exist.');
}

function writeNew(file: string, bytes: Uint8Array): void {
  try {
    writeFileSync(file, bytes, { flag: 'wx' });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST')
      throw new IntentFault('recording_unusable', EXISTS, { cause });
    rmSync(file, { force: true });
    throw new IntentFault('recording_unusable', 'The recording could not be written.', { cause });
  }
}

const EXISTS = 'There is a file in the place of the recording. A recording replaces none.';

import path from 'node:path';
import { defined } from '../base/defined.ts';
import { Fault } from '../base/fault.ts';
import type { IntentRequest } from '../contracts/intent/index.ts';
import type { Profile } from '../contracts/profile/shape.ts';
import type { RunResult } from '../contracts/run-result/index.ts';
import { homeFrom } from '../evidence/run-folder/runs.ts';
import { unjudgeableChecks } from '../judge/suite/accept.ts';
import { judgeAccept } from '../judge/suite/apart.ts';
import type { Asked } from '../run/intent/decide.ts';
import { type IntentContext, type IntentOrder, executeIntent as run } from '../run/intent/intent.ts';
import { judgedRecording, replayed } from '../run/intent/propose.ts';
import { judgedIntent, readGiven } from '../run/intent/read-intent.ts';
import { IntentFault } from '../run/intent/intent-fault.ts';
import { checkTarget, copyOutput } from './copy-output.ts';
import { withThread } from './judge-thread.ts';
import { signerAt } from './keys.ts';
import { sharedLauncher } from './launcher.ts';
import { ledgerOf } from './ledger.ts';
import { refuseUnknown } from './options.ts';
import { profileOf } from './profile.ts';
import type { AgentRunResult, RunAgentOptions } from './run-agent.ts';

/** An intent, and how to run it. */
export interface RunIntentOptions {
  /** The intent file, JSON or YAML. */
  readonly intent: string;
  /** `plan-only` (default) runs nothing. */
  readonly mode?: 'plan-only' | 'execute-sandbox';
  /** The name of a built-in profile, a profile file, or a profile object; `default` by default. */
  readonly policy?: string | Profile;
  /** A file with answers to the questions of an earlier run. */
  readonly answers?: string;
  /** `none` (default); `record` lets an agent plan a bare goal, `replay` uses its recorded answer. */
  readonly modelMode?: IntentRequest['model_mode'];
  /** The recording: `replay` reads it; `record` writes it and never overwrites a file. */
  readonly recording?: string;
  /** The agent that plans, with `record`. */
  readonly planner?: 'claude' | 'codex';
  /** The environment in which to find the planner's program and model credential. The planner does not see it. */
  readonly environment?: NonNullable<RunAgentOptions['environment']>;
  /** Keeps the contents of the sandbox for inspection. */
  readonly keepSandbox?: boolean;
  /** Stores well-known credentials unmasked. */
  readonly keepCredentials?: boolean;
  /** Copies the outputs to this folder, which must be empty or new. */
  readonly copyOutputTo?: string;
  /** Key that signs the seal; the key in `.proctor` by default. */
  readonly signingKey?: string;
  /** Proctor stores the run in the nearest `.proctor` from here upwards; the working folder by default. */
  readonly cwd?: string;
  readonly signal?: AbortSignal;
  readonly onOutput?: IntentContext['onOutput'];
  readonly onWait?: IntentContext['onWait'];
  readonly onFolder?: IntentContext['onFolder'];
  /** Called for each planner event, as it happens. */
  readonly onPlannerEvent?: NonNullable<RunAgentOptions['onEvent']>;
  /** Called with warnings that do not affect the run. */
  readonly onWarning?: (sentence: string) => void;
}

export interface IntentRunResult {
  readonly kind: 'intent';
  readonly runId: string;
  /** The run folder. */
  readonly folder: string;
  /** The same as run.json in the run folder. */
  readonly result: RunResult;
  /** The id of the signing key, or null. */
  readonly keyId: string | null;
  /** The agent run that planned it, or null. */
  readonly plannedBy: AgentRunResult | null;
  /** Paths on this machine, for its operators only. */
  readonly internal: { readonly sandbox_path?: string; readonly model_io_path?: string };
}

/** Decides on an intent, executes the plan in mode `execute-sandbox`, and seals the evidence. */
export async function runIntent(options: RunIntentOptions): Promise<IntentRunResult> {
  checkOptions(options);
  const { policy = 'default', mode = 'plan-only', copyOutputTo } = options;
  if (copyOutputTo !== undefined) checkTarget(copyOutputTo);
  const profile = profileOf(policy);
  checkModelMode(profile, options);
  const read = readGiven(options.intent, 'The intent', INTENT_BYTES_MAX);
  const answers = options.answers === undefined ? null : answersIn(options.answers);
  const asked = { intent: judgedIntent(read.value), profile, mode };
  const { plannedBy = null, ...proposer } = await proposerFor({ ...asked, answers: answers?.values ?? {} }, options);
  const answer = await runOrder({ ...asked, given: read.given, answers, ...proposer }, options);
  if (copyOutputTo !== undefined) copyOutput(answer.folder, copyOutputTo);
  return { ...answer, plannedBy };
}

export const ANSWERS_FILE = 'The answers file';
export const INTENT_BYTES_MAX = 16 * 1024 * 1024;

/** Runs an intent that has already been read. */
export async function runOrder(
  order: Omit<IntentOrder, 'judgeAccept' | 'checkAccept' | 'keepIn'>,
  {
    cwd = process.cwd(),
    signingKey,
    keepSandbox,
    keepCredentials,
    recording,
    signal,
    onOutput,
    onWait,
    onFolder,
    onWarning,
  }: Partial<RunIntentOptions>,
): Promise<IntentRunResult> {
  const home = homeFrom(cwd);
  const signer = signerAt(cwd, signingKey);
  const { place, result, keptIn } = await run(
    {
      ...order,
      judgeAccept: (...asked) => withThread(signal, judgeApart => judgeAccept(...asked, judgeApart)),
      checkAccept,
      ...(keepSandbox && { keepIn: path.join(home, 'kept') }),
      ...(keepCredentials && { keepCredentials }),
    },
    {
      home,
      signer,
      ledger: ledgerOf(home, onWarning),
      launcher: sharedLauncher,
      ...(signal && { signal }),
      ...(onOutput && { onOutput }),
      ...(onWait && { onWait }),
      ...(onFolder && { onFolder }),
    },
  );
  return {
    kind: 'intent',
    runId: place.id,
    folder: place.folder,
    result,
    keyId: signer?.keyId ?? null,
    plannedBy: null,
    internal: {
      ...(keptIn !== undefined && { sandbox_path: keptIn }),
      ...(recording !== undefined && order.modelMode === 'record' && { model_io_path: path.resolve(cwd, recording) }),
    },
  };
}

/** Throws if a check can never be judged, such as one with a broken pattern. */
export const checkAccept: IntentOrder['checkAccept'] = checks => {
  const [first] = unjudgeableChecks(checks);
  if (first)
    throw new IntentFault('intent_invalid', `${first.at} cannot be judged: ${first.message}`, { ruleId: 'IN6' });
};

function checkOptions(options: RunIntentOptions): void {
  if (typeof options?.intent !== 'string') throw new Fault('usage', 'runIntent requires intent: the path of a file.');
  refuseUnknown('runIntent', options, OPTIONS);
  for (const name of ['answers', 'recording'] as const) {
    if (!['string', 'undefined'].includes(typeof options[name]))
      throw new Fault('usage', `${name} must be the path of a file.`);
  }
  // An unknown value must never select the mode that runs something.
  for (const [name, values] of Object.entries(WORDS)) {
    const value: unknown = options[name as keyof typeof WORDS];
    if (value !== undefined && !values.some(known => known === value))
      throw new Fault('usage', `${name} must be ${values.join(' or ')}.`);
  }
}

const WORDS = {
  mode: ['plan-only', 'execute-sandbox'],
  modelMode: ['none', 'record', 'replay'],
  planner: ['claude', 'codex'],
} as const;

const OPTIONS: Record<keyof RunIntentOptions, true> = {
  intent: true,
  mode: true,
  policy: true,
  answers: true,
  modelMode: true,
  recording: true,
  planner: true,
  environment: true,
  keepSandbox: true,
  keepCredentials: true,
  copyOutputTo: true,
  signingKey: true,
  cwd: true,
  signal: true,
  onOutput: true,
  onWait: true,
  onFolder: true,
  onPlannerEvent: true,
  onWarning: true,
};

/** PL4 and PL5: a run under strict or default uses no model, and a run with a model has a recording. */
function checkModelMode({ name }: Profile, { modelMode: mode = 'none', recording, planner }: RunIntentOptions): void {
  if (mode === 'none') {
    const idle = recording !== undefined ? 'A recording' : planner !== undefined ? 'A planner' : undefined;
    if (idle !== undefined) throw new Fault('usage', `${idle} requires --model-mode record or replay.`);
    return;
  }
  if (name === 'strict' || name === 'default')
    throw new IntentFault(
      'model_mode_refused',
      `The profile ${name} allows no model. Use --model-mode none, or the profile dev.`,
      {
        ruleId: 'PL4',
      },
    );
  if (recording === undefined)
    throw new IntentFault('model_mode_refused', `The model mode ${mode} requires a recording. Add --recording FILE.`, {
      ruleId: 'PL5',
    });
  if (mode === 'record' && planner === undefined)
    throw new Fault('usage', 'The model mode record requires a planner. Add --planner claude or --planner codex.');
}

/** The source of a plan for a bare goal: none, a recording, or an agent to record. */
async function proposerFor(asked: Omit<Asked, 'propose'>, options: RunIntentOptions) {
  const { modelMode = 'none', recording, planner } = options;
  if (recording === undefined) return { modelMode, recording: null };
  if (modelMode !== 'record' || planner === undefined) return { modelMode, ...recordingIn(recording) };
  const { environment, cwd, signingKey, signal, onWait, onWarning, onPlannerEvent } = options;
  const given = { environment, cwd, signingKey, signal, onWait, onWarning, onPlannerEvent };
  const { recordPlan } = await import('./plan-intent.ts');
  return recordPlan(asked, { ...defined(given), planner, recording });
}

function answersIn(file: string): NonNullable<IntentOrder['answers']> {
  return answersOf(readGiven(file, ANSWERS_FILE, INTENT_BYTES_MAX));
}

export function answersOf({ value, given }: ReturnType<typeof readGiven>): NonNullable<IntentOrder['answers']> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new IntentFault('intent_invalid', 'The answers file must contain an object: {"KEY": answer}.');
  return { values: value as Record<string, unknown>, given };
}

export function recordingIn(file: string): Pick<IntentOrder, 'recording' | 'propose'> {
  const { bytes, value, given } = readGiven(file, 'The recording', RECORDING_BYTES_MAX);
  const session = judgedRecording(value);
  return { recording: { bytes, given }, propose: intent => replayed(session, intent) };
}

const RECORDING_BYTES_MAX = 128 * 1024 * 1024;

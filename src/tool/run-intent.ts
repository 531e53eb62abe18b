import path from 'node:path';
import { defined } from '../base/defined.ts';
import { Fault } from '../base/fault.ts';
import type { IntentRequest } from '../contracts/intent/index.ts';
import type { Profile } from '../contracts/profile/shape.ts';
import type { RunResult } from '../contracts/run-result/index.ts';
import { homeFrom } from '../evidence/runs.ts';
import { unjudgeableChecks } from '../judge/accept.ts';
import { judgeAccept } from '../judge/apart.ts';
import type { Asked } from '../run/intent/decide.ts';
import { type IntentAround, type IntentOrder, runIntent as run } from '../run/intent/intent.ts';
import { judgedRecording, replayed } from '../run/intent/propose.ts';
import { judgedIntent, readGiven } from '../run/intent/read-intent.ts';
import { IntentFault } from '../run/intent/trouble.ts';
import { checkTarget, copyOutput } from './copy-output.ts';
import { withThread } from './judge-thread.ts';
import { signerAt } from './keys.ts';
import { sharedLauncher } from './launcher.ts';
import { ledgerOf } from './ledger.ts';
import { refuseUnknown } from './options.ts';
import { profileOf } from './profile.ts';
import type { AgentRunResult, RunAgentOptions } from './run-agent.ts';

/** What is to be done, and how. What is not said takes its default. */
export interface RunIntentOptions {
  /** The file of the intent, JSON or YAML. */
  readonly intent: string;
  /** `plan-only`, if not said: nothing runs. */
  readonly mode?: 'plan-only' | 'execute-sandbox';
  /** The name of a built-in profile, the file of another, or one itself; `default`, if not said. */
  readonly policy?: string | Profile;
  /** A file with answers to the questions of an earlier run. */
  readonly answers?: string;
  /** `none`, if not said; `record` lets an agent plan a bare goal, `replay` takes what it answered then. */
  readonly modelMode?: IntentRequest['model_mode'];
  /** The file of what the model answered: read by `replay`, written by `record`, which replaces none. */
  readonly recording?: string;
  /** The agent that plans, for `record`. */
  readonly planner?: 'claude' | 'codex';
  /** Where the planner's program and the key of its model are looked up. Nothing of it reaches the planner. */
  readonly environment?: NonNullable<RunAgentOptions['environment']>;
  /** Keeps what the sandbox held, to be looked at. */
  readonly keepSandbox?: boolean;
  /** Stores well-known credentials as the commands say them. */
  readonly keepCredentials?: boolean;
  /** Copies the outputs to this folder, which must be empty or not exist. */
  readonly copyOutputTo?: string;
  /** The file of the key that the seal is signed with; the key of the place, if not said. */
  readonly signingKey?: string;
  /** Where the run is kept: in the nearest `.proctor` from here upwards. The working folder, if not said. */
  readonly cwd?: string;
  readonly signal?: AbortSignal;
  readonly onOutput?: IntentAround['onOutput'];
  readonly onWait?: IntentAround['onWait'];
  readonly onFolder?: IntentAround['onFolder'];
  /** What the planner does, as it does it. */
  readonly onPlannerEvent?: NonNullable<RunAgentOptions['onEvent']>;
  /** Something that does not touch the run, but that its caller should know. */
  readonly onWarning?: (sentence: string) => void;
}

/** What became of an intent, and where its evidence is. */
export interface IntentRunResult {
  readonly kind: 'intent';
  readonly runId: string;
  /** The run folder. */
  readonly folder: string;
  /** The same as run.json in it. */
  readonly result: RunResult;
  /** The key that the seal was signed with, or null. */
  readonly keyId: string | null;
  /** The run of the agent that has planned it, or null. */
  readonly plannedBy: AgentRunResult | null;
  /** What only those who run Proctor should see: paths of this machine. */
  readonly internal: { readonly sandbox_path?: string; readonly model_io_path?: string };
}

/** Decides upon an intent, does what was decided if asked to, and leaves evidence that anyone can verify. */
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

const INTENT_BYTES_MAX = 16 * 1024 * 1024;

/** Carries out an order that was read already. */
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
      checkAccept: checks => {
        const [first] = unjudgeableChecks(checks);
        if (first)
          throw new IntentFault('intent_invalid', `${first.at} cannot be judged: ${first.message}`, { ruleId: 'IN6' });
      },
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

function checkOptions(options: RunIntentOptions): void {
  if (typeof options?.intent !== 'string') throw new Fault('usage', 'runIntent needs intent: the path of a file.');
  refuseUnknown('runIntent', options, OPTIONS);
  for (const name of ['answers', 'recording'] as const) {
    if (!['string', 'undefined'].includes(typeof options[name]))
      throw new Fault('usage', `${name} is the path of a file.`);
  }
  // A word that nobody knows must not be taken for the one that runs something.
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

/** PL4 and PL5: a run under strict or default depends on no model, and one that does has a recording. */
function checkModelMode({ name }: Profile, { modelMode: mode = 'none', recording, planner }: RunIntentOptions): void {
  if (mode === 'none') {
    const idle = recording !== undefined ? 'A recording' : planner !== undefined ? 'A planner' : undefined;
    if (idle !== undefined) throw new Fault('usage', `${idle} is of use only with --model-mode record or replay.`);
    return;
  }
  if (name === 'strict' || name === 'default')
    throw new IntentFault('model_mode_refused', `The profile ${name} allows no model: its model mode must be none.`, {
      ruleId: 'PL4',
    });
  if (recording === undefined)
    throw new IntentFault('model_mode_refused', `The model mode ${mode} needs a recording: --recording FILE.`, {
      ruleId: 'PL5',
    });
  if (mode === 'record' && planner === undefined)
    throw new Fault('usage', 'The model mode record needs somebody to ask: --planner claude or --planner codex.');
}

/** Who proposes something for a bare goal: nobody, a recording, or an agent that is recorded. */
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
  const { value, given } = readGiven(file, 'The file of answers', INTENT_BYTES_MAX);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new IntentFault(
      'intent_invalid',
      'The file of answers must hold an object: a question’s key, and its answer.',
    );
  return { values: value as Record<string, unknown>, given };
}

/** The recording, and what it answers. */
export function recordingIn(file: string): Pick<IntentOrder, 'recording' | 'propose'> {
  const { bytes, value, given } = readGiven(file, 'The recording', RECORDING_BYTES_MAX);
  const session = judgedRecording(value);
  return { recording: { bytes, given }, propose: intent => replayed(session, intent) };
}

const RECORDING_BYTES_MAX = 128 * 1024 * 1024;

import path from 'node:path';
import { Fault } from '../base/fault.ts';
import type { TaskAttempt } from '../contracts/agent-step/attempt.ts';
import type { AgentEvaluation } from '../contracts/agent-evaluation/index.ts';
import type { TranscriptLine } from '../contracts/agent-step/reading.ts';
import type { CheckResult } from '../contracts/check-result/index.ts';
import type { LeftRunning, Phase } from '../contracts/capture.ts';
import type { Ending } from '../contracts/ending.ts';
import type { AgentJudgement, AgentPlan } from '../evidence/agent/agent-run.ts';
import { homeFrom } from '../evidence/run-folder/runs.ts';
import type { AgentAnswer, AgentContext, AgentOrder } from '../run/agent/agent.ts';
import { signerAt } from './keys.ts';
import { sharedLauncher } from './launcher.ts';
import { ledgerOf } from './ledger.ts';
import { refuseUnknown } from './options.ts';

/** A task for an agent, and its limits. */
export interface RunAgentOptions extends Omit<AgentOrder, 'dir' | 'policy' | 'environment' | 'cwd' | 'attempt'> {
  /**
   * The folder to work on. The agent gets a private clone of it. Default: the working folder, unless there is a
   * repository or files.
   */
  readonly dir?: string;
  /** `read-only` (default), `edit`, `open` or a policy file. */
  readonly policy?: string;
  /** The environment in which to find the agent's program and model credential. The agent does not see it. */
  readonly environment?: AgentOrder['environment'];
  /** Key that signs the seal; the key in `.proctor` by default. */
  readonly signingKey?: string;
  /** Proctor stores the run in the nearest `.proctor` from here upwards; the working folder by default. */
  readonly cwd?: string;
  /** A YAML or JSON file with more checks. Its overlays are relative to the file. */
  readonly checksFile?: string;
  readonly signal?: AbortSignal;
  /** Called for each agent event, as it happens. */
  readonly onEvent?: (line: TranscriptLine) => void;
  readonly onWait?: AgentContext['onWait'];
  readonly onFolder?: AgentContext['onFolder'];
  /** Called with warnings that do not affect the run. */
  readonly onWarning?: (sentence: string) => void;
}

export interface AgentRunResult {
  readonly kind: 'agent';
  readonly runId: string;
  /** The run folder. */
  readonly folder: string;
  readonly termination: AgentJudgement['termination'];
  readonly reason: AgentJudgement['reason'];
  readonly message: string | null;
  readonly ending: Ending;
  readonly correlationId: string;
  readonly agent: AgentPlan['agent'];
  /** The model that answered, as the agent reports it. */
  readonly model: string | null;
  readonly finalResponse: string | null;
  readonly transcriptPath: string;
  readonly finalResponsePath: string | null;
  readonly violations: AgentAnswer['violations'];
  /** The agent's claims that do not match what it did. */
  readonly flags: AgentEvaluation['flags'];
  /** The checks that ran in the tree that the agent left, in their order. */
  readonly checks: readonly CheckResult[];
  readonly denials: number;
  readonly reported: AgentJudgement['reported'];
  readonly changes: AgentAnswer['changes'];
  /** Changed files that run automatically, so `applyRun` applies them only by name. */
  readonly needsReview: AgentAnswer['needsReview'];
  /** Processes still running when the agent ended; null if not checked. */
  readonly leftRunning: LeftRunning | null;
  readonly policy: AgentAnswer['effective'];
  readonly runner: AgentPlan['runner'];
  readonly enforcement: AgentPlan['enforcement'];
  readonly observed: AgentPlan['observed'];
  readonly limits: AgentPlan['limits'];
  readonly clocks: AgentPlan['clocks'];
  readonly turnLimit: AgentPlan['turnLimit'];
  readonly modelAccess: AgentJudgement['modelAccess'];
  readonly projectContext: AgentPlan['projectContext'];
  /** The mounted folders with their hashes; undefined if there are none. */
  readonly mounts: AgentPlan['mounts'];
  /** What the agent started from; undefined if that is only a folder. */
  readonly base: AgentPlan['base'];
  readonly warnings: readonly string[];
  readonly durationMs: number;
  /** When the agent's program ran; null if it did not start. */
  readonly ran: Pick<Phase, 'startedAtMs' | 'durationMs'> | null;
  /** The id of the signing key, or null. */
  readonly keyId: string | null;
}

/** Runs an agent on a task in a private clone, under a policy that Proctor enforces, and seals the evidence. */
export async function runAgent(options: RunAgentOptions): Promise<AgentRunResult> {
  checkAgentOptions('runAgent', options);
  refuseUnknown('runAgent', options, AGENT_OPTIONS);
  return runAgentAs(options, undefined);
}

/** Runs an agent alone, or as one of several attempts. */
export async function runAgentAs(options: RunAgentOptions, attempt: TaskAttempt | undefined): Promise<AgentRunResult> {
  const { cwd = process.cwd(), policy = 'read-only', environment = {}, signingKey, ...rest } = options;
  const { signal, onEvent, onWait, onFolder, onWarning, checksFile, dir: named, ...asked } = rest;
  const isElsewhere = asked.repository !== undefined || asked.files !== undefined;
  const dir = named ?? (isElsewhere ? undefined : cwd);
  // The launcher starts while the code loads.
  const [{ executeAgent: run }, { readChecks }, { judgeAgentRun }, launcher] = await Promise.all([
    import('../run/agent/agent.ts'),
    import('../run/checks/read-checks.ts'),
    import('../judge/agent/judge-agent.ts'),
    sharedLauncher(),
  ]);
  const home = homeFrom(cwd);
  const signer = signerAt(cwd, signingKey);
  const order: AgentOrder = {
    ...asked,
    ...(attempt && { attempt }),
    ...(dir !== undefined && { dir: path.resolve(cwd, dir) }),
    policy,
    environment,
    cwd,
    ...(asked.recording !== undefined && { recording: path.resolve(cwd, asked.recording) }),
    checks: [...(asked.checks ?? []), ...(checksFile === undefined ? [] : readChecks(checksFile, cwd))],
  };
  const answer = await run(order, {
    launcher,
    home,
    signer,
    ledger: ledgerOf(home, onWarning),
    ...(signal && { signal }),
    ...(onEvent && { onEvent }),
    ...(onWait && { onWait }),
    ...(onFolder && { onFolder }),
    ...(onWarning && { onWarning }),
  });
  const { flags } = await judgeAgentRun(answer.place.folder, signer);
  return { ...resultOf(answer), flags, keyId: signer?.keyId ?? null };
}

/** Checks options at run time, because callers in JavaScript have no compiler to do it. */
export function checkAgentOptions(verb: string, options: RunAgentOptions): void {
  if (typeof options?.agent !== 'string') throw new Fault('usage', `${verb} requires agent: claude or codex.`);
  const { mounts = [] } = options;
  if (!Array.isArray(mounts) || !mounts.every(isMount))
    throw new Fault('usage', `${verb} requires mounts to be a list of { dir, path }.`);
  if (options.base !== undefined && typeof options.base !== 'string')
    throw new Fault('usage', `${verb} requires base to be the name of a commit.`);
  for (const name of ['repository', 'files'] as const)
    if (options[name] !== undefined && typeof options[name] !== 'string')
      throw new Fault('usage', `${verb} requires ${name} to be a path.`);
  if (options.setup !== undefined && typeof options.setup?.command !== 'string')
    throw new Fault('usage', `${verb} requires setup to be { command, timeoutMs, memoryBytes }.`);
  if (typeof options.task !== 'string') throw new Fault('usage', `${verb} requires task: the task for the agent.`);
}

function isMount(mount: unknown): boolean {
  const { dir, path: at } = (mount ?? {}) as { dir?: unknown; path?: unknown };
  return typeof dir === 'string' && dir !== '' && (at === undefined || (typeof at === 'string' && at !== ''));
}

export const AGENT_OPTIONS: Record<keyof RunAgentOptions, true> = {
  agent: true,
  task: true,
  promptReference: true,
  dir: true,
  repository: true,
  files: true,
  setup: true,
  policy: true,
  overrides: true,
  timeoutMs: true,
  idleMs: true,
  model: true,
  maxTurns: true,
  maxRequests: true,
  maxTokens: true,
  maxCostUsd: true,
  prices: true,
  cpus: true,
  secrets: true,
  keepCredentials: true,
  modelMode: true,
  recording: true,
  login: true,
  needsModel: true,
  allowUntestedVersion: true,
  allowDirty: true,
  base: true,
  mounts: true,
  projectContext: true,
  checks: true,
  checksFile: true,
  environment: true,
  signingKey: true,
  cwd: true,
  signal: true,
  onEvent: true,
  onWait: true,
  onFolder: true,
  onWarning: true,
};

function resultOf({ place, run, result, effective, violations, changes, needsReview }: AgentAnswer) {
  const { plan, capture, judgement, completedAtMs } = run;
  return {
    kind: 'agent' as const,
    runId: place.id,
    folder: place.folder,
    termination: judgement.termination,
    reason: judgement.reason,
    message: judgement.detail,
    ending: capture.ending,
    correlationId: plan.correlationId,
    agent: plan.agent,
    model: judgement.model,
    finalResponse: judgement.finalText,
    transcriptPath: result.transcript_path,
    finalResponsePath: result.final_response_path,
    violations,
    checks: (judgement.checks ?? []).map(({ result: check }) => check),
    denials: judgement.denials,
    reported: judgement.reported,
    changes,
    needsReview,
    leftRunning: run.capture.leftRunning ?? null,
    policy: effective,
    runner: plan.runner,
    enforcement: plan.enforcement,
    observed: plan.observed,
    limits: plan.limits,
    clocks: plan.clocks,
    turnLimit: plan.turnLimit,
    modelAccess: judgement.modelAccess,
    projectContext: plan.projectContext,
    mounts: plan.mounts,
    base: plan.base,
    warnings: [...(typeof plan.runner === 'string' ? [] : (plan.runner.warnings ?? [])), ...judgement.warnings],
    durationMs: completedAtMs - plan.startedAtMs,
    ran: capture.phases.find(({ name }) => name === 'execute') ?? null,
  };
}

import { canonicalize } from '../../base/canonical.ts';
import { instantText } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import type { AgentOutcome } from '../../contracts/agent-step/index.ts';
import type { AgentFiles, AgentRun } from './agent-run.ts';
import { checkDocuments, checkSteps } from './check-steps.ts';
import type { Document } from '../document.ts';
import { logOf } from '../step/log.ts';
import { recordedMasking, recordOf, streamOf } from '../step/record.ts';
import { exitOf } from '../step/endings.ts';
import { endingText } from '../step/endings.ts';
import { type Artifact, stepDocuments } from '../step/step-documents.ts';
import { usageOf } from '../step/usage.ts';

const STEP = 'agent';
export const AGENT_STEP_FOLDER = `evidence/steps/${STEP}`;

/** Files written before the documents: while the agent runs, and right after it ends. */
export const AGENT_FILES = {
  transcript: `${AGENT_STEP_FOLDER}/transcript.ndjson`,
  stdout: 'evidence/native/stdout.log',
  stderr: 'evidence/native/stderr.log',
  diff: 'workspace.diff',
  commits: 'commits.diff',
} as const satisfies Record<keyof AgentFiles, string>;

/** Builds every document of an agent run except the files above and the seal. Pure: reads and writes no files. */
export function agentDocuments(run: AgentRun): Document[] {
  const { plan, capture, judgement, completedAtMs } = run;
  const runner =
    typeof plan.runner === 'string'
      ? plan.runner
      : recordOf(plan.runner, capture, judgement.warnings, plan.startedAtMs, completedAtMs);
  const { finalText, workspaceStatus, files, checks = [] } = judgement;
  const metadata = canonicalize(metadataOf(run));
  const policy = canonicalize(judgement.policy);
  const status = workspaceStatus && canonicalize(workspaceStatus);
  const artifacts: Artifact[] = [
    ['runner_transcript', AGENT_FILES.transcript, 'application/x-ndjson', files.transcript],
    ['runner_final_response', FINAL, 'text/plain; charset=utf-8', finalText],
    ['runner_metadata', METADATA, 'application/json', metadata],
    ['policy_summary', POLICY, 'application/json', policy],
    ...(files.diff ? [['workspace_diff', AGENT_FILES.diff, 'text/x-diff', files.diff] as const] : []),
    ...(status ? [['workspace_status', STATUS, 'application/json', status] as const] : []),
  ];
  return [
    ['result.json', canonicalize(resultOf(run))],
    ['evidence/request.json', canonicalize({ schema_version: 'agent-request.v1', ...plan.asked })],
    ...(typeof runner === 'string' ? [] : [['evidence/runner.json', canonicalize(runner)] as const]),
    ['evidence/outcome.json', canonicalize(outcomeOf(run))],
    ['evidence/final-state.txt', finalState(run)],
    ...stepDocuments(
      {
        runId: plan.request.run_id,
        step: STEP,
        termination: judgement.termination,
        startedAtMs: plan.startedAtMs,
        endedAtMs: completedAtMs,
        runner,
        artifacts,
        required: ['runner_transcript', 'runner_final_response', 'runner_metadata', 'policy_summary'],
        notes: [`reason: ${judgement.reason}`],
        agent: {
          family: plan.asked.agent_family,
          workspace: judgement.workspace ?? plan.workspace,
          attempt: plan.asked.attempt,
          ...agentTimes(run),
        },
      },
      checkSteps(checks, completedAtMs),
    ),
    ...checkDocuments(checks),
    ...(finalText === null ? [] : [[FINAL, finalText] as const]),
    [METADATA, metadata],
    [POLICY, policy],
    ...(status ? [[STATUS, status] as const] : []),
    ...logOf(judgement.remarks, completedAtMs, plan.correlationId),
  ];
}

export const STEP_FILES = {
  final: `${AGENT_STEP_FOLDER}/final_response.txt`,
  metadata: `${AGENT_STEP_FOLDER}/runner_metadata.json`,
  policy: `${AGENT_STEP_FOLDER}/policy_summary.json`,
  status: `${AGENT_STEP_FOLDER}/workspace_status.json`,
} as const;

const { final: FINAL, metadata: METADATA, policy: POLICY, status: STATUS } = STEP_FILES;

export function resultOf({ judgement: { termination, reason, finalText } }: AgentRun) {
  return {
    schema_version: 'agent-result.v1',
    termination,
    reason,
    transcript_path: AGENT_FILES.transcript,
    final_response_path: finalText === null ? null : FINAL,
  } as const;
}

function metadataOf(run: AgentRun): object {
  const { plan, capture, judgement } = run;
  const { startedAtMs, endedAtMs } = agentTimes(run);
  return {
    schema_version: 'runner-metadata.v1',
    agent_family: plan.asked.agent_family,
    agent_version: plan.agent.version,
    program_sha256: plan.agent.sha256,
    untested_version: plan.agent.untested,
    invocation_mode: plan.invocation.mode,
    command: plan.invocation.command,
    working_directory: plan.asked.working_directory,
    prompt_reference: plan.asked.prompt_reference,
    approval_posture: plan.invocation.approval,
    started_at: instantText(startedAtMs),
    ended_at: instantText(endedAtMs),
    exit_code: hasOwnCode(judgement.termination, capture.ending) ? exitOf(capture.ending).code : null,
    termination: judgement.termination,
    reason: judgement.reason,
    capture_format: 'ndjson',
    ...(judgement.session !== null && { session_id: judgement.session }),
    ...(judgement.model !== null && { model: judgement.model }),
  };
}

/**
 * When the agent process started and ended. The run itself starts earlier, to make the clone, and ends later, after it
 * inspects the work tree. If the agent never started, these are the run's times.
 */
function agentTimes({ plan, capture, completedAtMs }: AgentRun): { startedAtMs: number; endedAtMs: number } {
  const phase = capture.phases.find(({ name }) => name === 'execute');
  if (!phase) return { startedAtMs: plan.startedAtMs, endedAtMs: completedAtMs };
  const startedAtMs = Math.min(Math.max(phase.startedAtMs, plan.startedAtMs), completedAtMs);
  return { startedAtMs, endedAtMs: Math.min(startedAtMs + phase.durationMs, completedAtMs) };
}

/**
 * False if the agent's exit is unknown, if it never started, or if it had finished its work when Proctor stopped it.
 */
export function hasOwnCode(termination: AgentOutcome['termination'], { how }: AgentOutcome['ending']): boolean {
  return how !== 'lost' && how !== 'not_started' && !(how === 'killed' && termination === 'completed');
}

function outcomeOf({ plan, capture, judgement, recovered }: AgentRun): AgentOutcome {
  const { termination, reason, detail, apiStatus, session, model, reported, lines, events, denials } = judgement;
  return {
    schema_version: 'agent-outcome.v1',
    run_id: plan.request.run_id,
    correlation_id: plan.correlationId,
    termination,
    reason,
    detail,
    api_status: apiStatus,
    ending: capture.ending,
    agent: { ...plan.agent, session, model },
    reported,
    lines,
    events,
    denials,
    model_access: judgement.modelAccess,
    ...(plan.projectContext && { project_context: plan.projectContext }),
    ...(plan.mounts && { mounts: plan.mounts }),
    ...(plan.base && { base: plan.base }),
    streams: [streamOf('stdout', capture.stdout), streamOf('stderr', capture.stderr)],
    enforcement: plan.enforcement,
    observed: plan.observed,
    limits: plan.limits,
    clocks: plan.clocks,
    ...(plan.turnLimit && { turn_limit: plan.turnLimit }),
    usage: usageOf(capture),
    survivors: capture.survivors ?? null,
    ...leftRunningOf(capture),
    network_attempts: capture.networkAttempts ?? null,
    ...(recovered && { recovered }),
    ...recordedMasking(judgement.masking, capture),
  };
}

function leftRunningOf({ leftRunning }: AgentRun['capture']): Pick<AgentOutcome, 'left_running'> {
  if (!leftRunning) return {};
  return { left_running: { processes: leftRunning.processes, programs: [...leftRunning.programs] } };
}

function finalState({ plan, capture, judgement, completedAtMs }: AgentRun): string {
  const { termination, reason, detail } = judgement;
  const lines = [
    `run        ${plan.request.run_id}`,
    `agent      ${plan.agent.family} ${printable(plan.agent.version)}`,
    `ended      ${termination}, ${reason}`,
    ...(detail === null ? [] : [`detail     ${printable(detail)}`]),
    `ending     ${endingText(capture.ending)}`,
    `took       ${completedAtMs - plan.startedAtMs} ms`,
  ];
  return `${lines.join('\n')}\n`;
}

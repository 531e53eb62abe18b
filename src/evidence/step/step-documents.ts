import { canonicalize } from '../../base/canonical.ts';
import { instantText } from '../../base/clock.ts';
import { bytesHash, contentHash } from '../../base/hash.ts';
import type { TaskAttempt } from '../../contracts/agent-step/attempt.ts';
import { runner as runnerContract } from '../../contracts/runner/index.ts';
import type { Runner } from '../../contracts/runner/shape.ts';
import type { Family } from '../../contracts/agent-step/words.ts';
import type { SealedFile } from '../../contracts/seal/statement.ts';
import type { Document } from '../document.ts';
import type { stepTermination } from './endings.ts';

/** A file of the run, with its role and its content: bytes, or their hash and size; null if the file does not exist. */
export type Artifact = readonly [
  role: string,
  path: string,
  mediaType: string,
  content: string | Uint8Array | Pick<SealedFile, 'sha256' | 'bytes'> | null,
];

/** A run of one step, as described by the documents that every kind of run has. */
export interface StepFacts {
  readonly runId: string;
  readonly step: string;
  readonly termination: ReturnType<typeof stepTermination>;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** The runner record, or the reason why there is none. */
  readonly runner: Runner | string;
  readonly artifacts: readonly Artifact[];
  /** Roles of files that every such step must have. */
  readonly required: readonly string[];
  readonly notes: readonly string[];
  /** For agents. The times are those of the agent process. */
  readonly agent?: {
    readonly family: Family;
    readonly workspace: object | undefined;
    readonly attempt: TaskAttempt | undefined;
    readonly startedAtMs: number;
    readonly endedAtMs: number;
  };
}

/** A step after the first one, such as a check. */
export type FurtherStep = Omit<StepFacts, 'runId' | 'runner'>;

/**
 * Builds the documents that every kind of run has: metadata, status, events and the step manifest. Each further step
 * adds a manifest and its events. The run ends when its last step has ended.
 */
export function stepDocuments(step: StepFacts, further: readonly FurtherStep[] = []): Document[] {
  const [next] = further;
  const first = next ? { ...step, endedAtMs: Math.min(step.endedAtMs, next.startedAtMs) } : step;
  const manifest = (each: FurtherStep): Document => [
    `evidence/steps/${each.step}/manifest.json`,
    canonicalize(manifestOf(each)),
  ];
  return [
    ['evidence/metadata.json', canonicalize(metadataOf(step, further))],
    ['evidence/status.json', canonicalize(statusOf(step))],
    ['evidence/events.ndjson', eventsOf(step, first, further)],
    manifest(first),
    ...further.map(manifest),
  ];
}

function timesOf({ startedAtMs, endedAtMs }: Pick<StepFacts, 'startedAtMs' | 'endedAtMs'>) {
  return { started_at: instantText(startedAtMs), ended_at: instantText(endedAtMs) };
}

function metadataOf(step: StepFacts, further: readonly FurtherStep[]): object {
  return {
    schema_version: 'metadata.v1',
    run_id: step.runId,
    workflow_id: null,
    workflow_version: null,
    ...timesOf(step),
    artifacts_root: 'evidence/steps',
    entry_step: step.step,
    last_step_id: further.at(-1)?.step ?? step.step,
    termination: step.termination,
    ...(step.agent?.workspace && { workspace_context: step.agent.workspace }),
    ...(typeof step.runner === 'string'
      ? { runner_record_absent: step.runner }
      : { environment_hash: environmentHash(step.runner) }),
    ...(step.agent?.attempt && { attempt: step.agent.attempt }),
  };
}

/** Equal for two runs in the same environment. */
function environmentHash(runner: Runner): string {
  const keys = new Set(runnerContract.environment);
  return contentHash(Object.fromEntries(Object.entries(runner).filter(([key]) => keys.has(key))));
}

function statusOf(step: StepFacts): object {
  const { started_at, ended_at } = timesOf(step);
  const hasSucceeded = step.termination === 'completed';
  return {
    schema_version: 'status.v1',
    run_id: step.runId,
    workflow_id: null,
    started_at,
    updated_at: ended_at,
    lifecycle_state: hasSucceeded ? 'completed' : 'failed',
    current_step_id: null,
    last_completed_step_id: hasSucceeded ? step.step : null,
    active_opcode: null,
    active_runner_family: null,
    worktree_path: null,
    last_route_target: null,
    termination: step.termination,
  };
}

function eventsOf(run: StepFacts, first: FurtherStep, further: readonly FurtherStep[]): string {
  const events = [
    ...[first, ...further].flatMap(step => stepEvents(run.runId, step)),
    {
      schema_version: 'event.v1',
      run_id: run.runId,
      step_id: run.step,
      timestamp: timesOf(run).ended_at,
      event_type: 'status_updated',
      lifecycle_state: run.termination === 'completed' ? 'completed' : 'failed',
    },
  ];
  return events.map(event => `${canonicalize(event)}\n`).join('');
}

function stepEvents(runId: string, step: FurtherStep): object[] {
  const { started_at, ended_at } = timesOf(step);
  const of = { schema_version: 'event.v1', run_id: runId, step_id: step.step };
  const ended = { ...of, timestamp: ended_at };
  return [
    { ...of, timestamp: started_at, event_type: 'step_started', opcode: opcodeOf(step) },
    ...runnerEvents(step).map(event => Object.assign(event, of)),
    ...present(step).map(([artifact_role, artifact_path]) =>
      Object.assign({ event_type: 'artifact_recorded', artifact_role, artifact_path }, ended),
    ),
    { ...ended, event_type: step.termination === 'completed' ? 'step_completed' : 'step_failed' },
  ];
}

function runnerEvents({ agent }: Pick<StepFacts, 'agent'>): object[] {
  if (!agent) return [];
  const { family: runner_family, startedAtMs, endedAtMs } = agent;
  return [
    { timestamp: instantText(startedAtMs), event_type: 'runner_started', runner_family },
    { timestamp: instantText(endedAtMs), event_type: 'runner_completed', runner_family },
  ];
}

function opcodeOf({ agent }: Pick<StepFacts, 'agent'>): 'RUN_AGENT' | 'RUN_VALIDATION' {
  return agent ? 'RUN_AGENT' : 'RUN_VALIDATION';
}

function present({ artifacts }: Pick<StepFacts, 'artifacts'>): Artifact[] {
  return artifacts.filter(([, , , content]) => content !== null);
}

function manifestOf(step: FurtherStep): object {
  return {
    schema_version: 'step-manifest.v1',
    step_id: step.step,
    opcode: opcodeOf(step),
    ...timesOf(step),
    termination: step.termination,
    evidence_summary: {
      references: present(step).map(([role, path]) => ({ role, path })),
      notes: step.notes,
    },
    artifacts: step.artifacts.map(artifact => entryOf(artifact, step.required)),
  };
}

/** An entry without a file has no path, hash or size. */
function entryOf([role, path, media_type, content]: Artifact, required: readonly string[]): object {
  const entry = { role, media_type, required: required.includes(role) };
  return content === null ? entry : { ...entry, path, ...hashed(content) };
}

function hashed(content: Exclude<Artifact[3], null>): { readonly sha256: string; readonly size_bytes: number } {
  if (typeof content === 'string' || content instanceof Uint8Array)
    return { sha256: bytesHash(content), size_bytes: Buffer.byteLength(content) };
  return { sha256: content.sha256, size_bytes: content.bytes };
}

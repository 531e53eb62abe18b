import { canonicalize } from '../../base/canonical.ts';
import { instantText } from '../../base/clock.ts';
import { bytesHash, contentHash } from '../../base/hash.ts';
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
    readonly startedAtMs: number;
    readonly endedAtMs: number;
  };
}

/** Builds the documents that every kind of run has: metadata, status, events and the step manifest. */
export function stepDocuments(step: StepFacts): Document[] {
  return [
    ['evidence/metadata.json', canonicalize(metadataOf(step))],
    ['evidence/status.json', canonicalize(statusOf(step))],
    ['evidence/events.ndjson', eventsOf(step)],
    [`evidence/steps/${step.step}/manifest.json`, canonicalize(manifestOf(step))],
  ];
}

function timesOf({ startedAtMs, endedAtMs }: StepFacts) {
  return { started_at: instantText(startedAtMs), ended_at: instantText(endedAtMs) };
}

function metadataOf(step: StepFacts): object {
  return {
    schema_version: 'metadata.v1',
    run_id: step.runId,
    workflow_id: null,
    workflow_version: null,
    ...timesOf(step),
    artifacts_root: 'evidence/steps',
    entry_step: step.step,
    last_step_id: step.step,
    termination: step.termination,
    ...(step.agent?.workspace && { workspace_context: step.agent.workspace }),
    ...(typeof step.runner === 'string'
      ? { runner_record_absent: step.runner }
      : { environment_hash: environmentHash(step.runner) }),
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

function eventsOf(step: StepFacts): string {
  const { started_at, ended_at } = timesOf(step);
  const of = { schema_version: 'event.v1', run_id: step.runId, step_id: step.step };
  const ended = { ...of, timestamp: ended_at };
  const hasSucceeded = step.termination === 'completed';
  const events = [
    { ...of, timestamp: started_at, event_type: 'step_started', opcode: opcodeOf(step) },
    ...runnerEvents(step).map(event => Object.assign(event, of)),
    ...present(step).map(([artifact_role, artifact_path]) =>
      Object.assign({ event_type: 'artifact_recorded', artifact_role, artifact_path }, ended),
    ),
    { ...ended, event_type: hasSucceeded ? 'step_completed' : 'step_failed' },
    { ...ended, event_type: 'status_updated', lifecycle_state: hasSucceeded ? 'completed' : 'failed' },
  ];
  return events.map(event => `${canonicalize(event)}\n`).join('');
}

function runnerEvents({ agent }: StepFacts): object[] {
  if (!agent) return [];
  const { family: runner_family, startedAtMs, endedAtMs } = agent;
  return [
    { timestamp: instantText(startedAtMs), event_type: 'runner_started', runner_family },
    { timestamp: instantText(endedAtMs), event_type: 'runner_completed', runner_family },
  ];
}

function opcodeOf({ agent }: StepFacts): 'RUN_AGENT' | 'RUN_VALIDATION' {
  return agent ? 'RUN_AGENT' : 'RUN_VALIDATION';
}

function present({ artifacts }: StepFacts): Artifact[] {
  return artifacts.filter(([, , , content]) => content !== null);
}

function manifestOf(step: StepFacts): object {
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

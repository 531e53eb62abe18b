import { canonicalize } from '../base/canonical.ts';
import { instantText } from '../base/clock.ts';
import { bytesHash, contentHash } from '../base/hash.ts';
import type { Ending } from '../contracts/ending.ts';
import { runner as runnerContract } from '../contracts/runner/index.ts';
import type { Runner } from '../contracts/runner/shape.ts';
import type { ScriptOutcome } from '../contracts/script-outcome/shape.ts';
import { type ScriptResult, scriptResult } from '../contracts/script-result/index.ts';
import { exitOf, terminationOf } from './endings.ts';
import type { ScriptRun, StoredStreams, StreamNote } from './script-run.ts';
import { finalState } from './final-state.ts';

/** A file of the run folder: its path in it, and its bytes. */
export type Document = readonly [path: string, bytes: string | Uint8Array];

const STEP = 'script';
const STEP_FOLDER = `evidence/steps/${STEP}`;

/** Everything that is written of a script's run, but for the files that it made and the seal. A value in, values out. */
export function documentsOf(run: ScriptRun, streams: StoredStreams): Document[] {
  const runner = runnerOf(run);
  const result = canonicalize(resultOf(run));
  const outcome = outcomeOf(run);
  const termination = terminationOf(run.capture.ending, run.reading.status === 'succeeded');
  const artifacts: Artifact[] = [
    ['validation_report', 'result.json', 'application/json', result],
    ['validation_stdout', `${STEP_FOLDER}/stdout.txt`, TEXT, streams.stdout],
    ['validation_stderr', `${STEP_FOLDER}/stderr.txt`, TEXT, streams.stderr],
  ];
  const times = {
    started_at: instantText(run.plan.startedAtMs),
    ended_at: instantText(run.completedAtMs),
  };
  const named = { run, times, termination };
  return [
    ['result.json', result],
    ['evidence/request.json', canonicalize(run.plan.request)],
    ['evidence/runner.json', canonicalize(runner)],
    ['evidence/outcome.json', canonicalize(outcome)],
    ['evidence/metadata.json', canonicalize(metadataOf(named, runner))],
    ['evidence/status.json', canonicalize(statusOf(named))],
    ['evidence/events.ndjson', eventsOf(named, artifacts)],
    ['evidence/final-state.txt', finalState(run, runner)],
    [`${STEP_FOLDER}/manifest.json`, canonicalize(manifestOf(named, artifacts))],
    [`${STEP_FOLDER}/stdout.txt`, streams.stdout],
    [`${STEP_FOLDER}/stderr.txt`, streams.stderr],
    ...logOf(run),
  ];
}

const TEXT = 'text/plain; charset=utf-8';

type Artifact = readonly [role: string, path: string, mediaType: string, bytes: string | Uint8Array];

interface Named {
  readonly run: ScriptRun;
  readonly times: { readonly started_at: string; readonly ended_at: string };
  readonly termination: ReturnType<typeof terminationOf>;
}

function runnerOf({ plan, capture, reading, completedAtMs }: ScriptRun): Runner {
  const warnings = [...(plan.runner.warnings ?? []), ...reading.warnings].sort();
  const end = capture.phases.at(-1);
  const torn = end ? end.startedAtMs + end.durationMs : plan.startedAtMs;
  const phases = [
    ...capture.phases,
    { name: 'teardown', startedAtMs: torn, durationMs: Math.max(0, completedAtMs - torn) },
  ];
  return {
    ...plan.runner,
    timing: {
      started_at: instantText(plan.startedAtMs),
      completed_at: instantText(completedAtMs),
      duration_ms: completedAtMs - plan.startedAtMs,
      phases: phases.map(({ name, startedAtMs, durationMs }) => ({
        name,
        started_at: instantText(startedAtMs),
        duration_ms: durationMs,
      })),
    },
    exit: exitOf(capture.ending),
    ...(warnings.length > 0 && { warnings }),
  };
}

/** With as many files as the format of results has room for; the seal lists them all. */
function resultOf({ reading }: ScriptRun): ScriptResult {
  const artifacts: ScriptResult['artifacts'] = [];
  const result: ScriptResult = {
    contract_version: 1,
    status: reading.status,
    html_output: reading.htmlOutput,
    error_summary: reading.errorSummary,
    artifacts,
  };
  let roomBytes = scriptResult.bytesMax - Buffer.byteLength(canonicalize(result));
  for (const { path, bytes } of reading.files.slice(0, ARTIFACTS_MAX)) {
    roomBytes -= Buffer.byteLength(canonicalize({ path, bytes })) + 1;
    if (roomBytes < 0) break;
    artifacts.push({ path, bytes });
  }
  return result;
}

const ARTIFACTS_MAX = 2_000;

function outcomeOf({ plan, capture, reading }: ScriptRun): ScriptOutcome {
  return {
    schema_version: 'script-outcome.v1',
    run_id: plan.request.run_id,
    status: reading.status,
    claimed_status: reading.claimedStatus,
    reason: reading.reason,
    public_message: reading.publicMessage,
    correlation_id: plan.correlationId,
    timeout_source: reading.timeoutSource,
    salvaged: reading.salvaged,
    ending: capture.ending satisfies Ending,
    result: reading.result,
    streams: [streamOf('stdout', capture.stdout), streamOf('stderr', capture.stderr)],
    cuts: [...cutOf('stdout', capture.stdout), ...cutOf('stderr', capture.stderr), ...reading.cuts],
    replaced: reading.replaced,
    artifacts: reading.artifacts,
    enforcement: plan.enforcement,
    observed: plan.observed,
    limits: plan.limits,
    usage: {
      cpu_ms: capture.cpuMs === undefined ? null : Math.round(capture.cpuMs),
      memory_peak_bytes: capture.memoryPeakBytes ?? null,
      forks_denied: capture.forksDenied ?? null,
    },
  };
}

function streamOf(
  name: 'stdout' | 'stderr',
  { bytesTotal, sha256, bytesKept, masked }: StreamNote,
): ScriptOutcome['streams'][number] {
  return { name, bytes_total: bytesTotal, sha256, bytes_kept: bytesKept, truncated: bytesKept < bytesTotal, masked };
}

function cutOf(what: string, { bytesTotal, bytesKept }: StreamNote): ScriptOutcome['cuts'] {
  return bytesKept < bytesTotal ? [{ what, bytes_total: bytesTotal, bytes_kept: bytesKept }] : [];
}

function metadataOf({ run, times, termination }: Named, runner: Runner): object {
  return {
    schema_version: 'metadata.v1',
    run_id: run.plan.request.run_id,
    workflow_id: null,
    workflow_version: null,
    ...times,
    artifacts_root: 'evidence/steps',
    entry_step: STEP,
    last_step_id: STEP,
    termination,
    environment_hash: environmentHash(runner),
  };
}

/** Over what is equal between two runs in the same surroundings. */
function environmentHash(runner: Runner): string {
  const keys = new Set(runnerContract.environment);
  return contentHash(Object.fromEntries(Object.entries(runner).filter(([key]) => keys.has(key))));
}

function statusOf({ run, times, termination }: Named): object {
  return {
    schema_version: 'status.v1',
    run_id: run.plan.request.run_id,
    workflow_id: null,
    started_at: times.started_at,
    updated_at: times.ended_at,
    lifecycle_state: termination === 'completed' ? 'completed' : 'failed',
    current_step_id: null,
    last_completed_step_id: termination === 'completed' ? STEP : null,
    active_opcode: null,
    active_runner_family: null,
    worktree_path: null,
    last_route_target: null,
    termination,
  };
}

function eventsOf({ run, times, termination }: Named, artifacts: readonly Artifact[]): string {
  const of = { schema_version: 'event.v1', run_id: run.plan.request.run_id, step_id: STEP };
  const ended = { ...of, timestamp: times.ended_at };
  const hasSucceeded = termination === 'completed';
  const events = [
    { ...of, timestamp: times.started_at, event_type: 'step_started', opcode: 'RUN_VALIDATION' },
    ...artifacts.map(([role, path]) => ({
      ...ended,
      event_type: 'artifact_recorded',
      artifact_role: role,
      artifact_path: path,
    })),
    { ...ended, event_type: hasSucceeded ? 'step_completed' : 'step_failed' },
    { ...ended, event_type: 'status_updated', lifecycle_state: hasSucceeded ? 'completed' : 'failed' },
  ];
  return events.map(event => `${canonicalize(event)}\n`).join('');
}

function manifestOf({ times, termination, run }: Named, artifacts: readonly Artifact[]): object {
  return {
    schema_version: 'step-manifest.v1',
    step_id: STEP,
    opcode: 'RUN_VALIDATION',
    ...times,
    termination,
    evidence_summary: {
      references: artifacts.map(([role, path]) => ({ role, path })),
      notes: run.reading.reason === null ? [] : [`reason: ${run.reading.reason}`],
    },
    artifacts: artifacts.map(([role, path, media_type, bytes]) => ({
      role,
      path,
      media_type,
      required: role === 'validation_report',
      sha256: bytesHash(bytes),
      size_bytes: Buffer.byteLength(bytes),
    })),
  };
}

/** What only the people who run Proctor should read. */
function logOf({ plan, reading, completedAtMs }: ScriptRun): Document[] {
  if (reading.remarks.length === 0) return [];
  const at = instantText(completedAtMs);
  const lines = reading.remarks.map(({ level, code, detail }) =>
    canonicalize({ at, level, code, detail, correlation_id: plan.correlationId }),
  );
  return [['evidence/internal/log.ndjson', `${lines.join('\n')}\n`]];
}

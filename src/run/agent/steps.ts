import { existsSync } from 'node:fs';
import path from 'node:path';
import { maskingOf } from '../../base/masker.ts';
import { readRegular } from '../../base/regular.ts';
import type { Capture, KeptStream } from '../../contracts/capture.ts';
import { AGENT_FILES } from '../../evidence/agent/agent-documents.ts';
import { sealedAgentFiles } from '../../evidence/agent/agent-recover.ts';
import type { AgentFiles } from '../../evidence/agent/agent-run.ts';
import type { CheckNote } from '../../evidence/agent/check-steps.ts';
import type { CaptureNote, Stored, StreamNote } from '../../evidence/step/capture-note.ts';
import { RefWatch } from '../../execute/worktree/ref-watch.ts';
import { guardOf } from '../../policy/run-violations.ts';
import { runChecks } from '../checks/run-checks.ts';
import type { StartedRun } from '../pipeline/journaled-run.ts';
import { refuseLostSandbox, runToEnd } from '../pipeline/steps.ts';
import type { AgentTypes, CheckedAgentRun } from './agent.ts';
import { clocksOf } from './bound.ts';
import { judged } from './judged.ts';
import { maskedLeft, maskOf } from './masked.ts';
import { accessOf, secretsOf } from './model.ts';
import { AgentWatch, type WatchedStream } from './watch.ts';
import { workspaceAfter } from './workspace-after.ts';

/** Runs the agent to completion. */
export async function watchAgent(run: StartedRun<AgentTypes>): Promise<AgentTypes['seen']> {
  const { ready, door } = run.made;
  const refs = watchedRefs(run);
  const { capture, seen } = await listenTo(run).finally(() => refs?.close());
  const noted = {
    ...capture,
    stdout: noteOf(capture.stdout, seen.files.stdout),
    stderr: noteOf(capture.stderr, seen.files.stderr),
    ...(capture.leftRunning && { leftRunning: maskedLeft(capture.leftRunning, maskOf(ready, door)) }),
  };
  return { ...seen, capture: noted, refsWritten: refs?.written() ?? new Set() };
}

/** Examines the work tree once all the agent's processes have ended. */
export async function judgeAgent(run: StartedRun<AgentTypes>, seen: AgentTypes['seen']): Promise<AgentTypes['judged']> {
  const { ready, door } = run.made;
  const after = await workspaceAfter(run, seen.refsWritten);
  refuseLostSandbox(run, seen.capture);
  // Proctor reports a failed recording once the run is sealed, because the evidence does not depend on it.
  await door?.close().catch(() => undefined);
  const files: AgentFiles = { ...seen.files, diff: after.diff, ...(after.commits && { commits: after.commits }) };
  const { judgement, violations, needsReview } = judged({ run, seen, after, access: accessOf(ready, door), files });
  const checks = await checksAfter(run, seen);
  return {
    reading: { ...judgement, ...(checks.length > 0 && { checks }) },
    stored: [...sealedAgentFiles(files), ...checks.flatMap(({ stored }) => stored)],
    violations,
    needsReview,
    changes: after.counts,
  };
}

/** Runs the checks in the tree that the agent left. */
function checksAfter(run: StartedRun<AgentTypes>, { capture }: AgentTypes['seen']): Promise<readonly CheckNote[]> {
  const { place, made, prepared, context } = run;
  const { ready, clone, door, mounted } = made;
  const isReadOnly = ready.bound.effective.execution_posture === 'read_only';
  const workTree = isReadOnly ? clone.tree : path.join(prepared.workFolder, 'output');
  return runChecks(ready.checks, {
    runId: ready.id,
    folder: place.folder,
    launcher: context.launcher,
    clone,
    workTree,
    mounts: mounted.mounts,
    mountNotes: mounted.notes,
    secrets: [...secretsOf(ready), ...(door ? [door.token] : [])],
    mask: maskOf({ ...ready, order: { ...ready.order, keepCredentials: false } }, door),
    signal: context.signal,
    note: run.note,
    obstacle: obstacleIn(capture, workTree),
  });
}

/** Why no check can run: the agent still has processes, or its tree is gone. */
function obstacleIn({ survivors = 0 }: CaptureNote, workTree: string) {
  if (survivors > 0)
    return { reason: 'agent_not_dead', message: 'Processes of the agent could not be killed, so no check can run.' };
  return existsSync(workTree)
    ? undefined
    : { reason: 'tree_lost', message: 'The work tree died with the sandbox of the agent, so no check can run.' };
}

/** If the tree is read-only, no ref can be written. */
function watchedRefs({ made: { ready }, prepared }: StartedRun<AgentTypes>): RefWatch | undefined {
  if (ready.bound.effective.execution_posture === 'read_only') return undefined;
  return new RefWatch(path.join(prepared.workFolder, 'output', '.git'));
}

async function listenTo(run: StartedRun<AgentTypes>): Promise<{ capture: Capture; seen: WatchedStream }> {
  const { place, prepared, made } = run;
  const { adapter, bound, around, order } = made.ready;
  const { graceMs, idleMs, toolIdleMs } = timesOf(bound);
  const watch = new AgentWatch({
    reader: adapter.reader({
      approval: bound.effective.approval_posture,
      maxTurns: bound.limits.maxTurns,
      isGuarded: guardOf(bound.effective),
    }),
    keeping: {
      transcript: path.join(place.folder, AGENT_FILES.transcript),
      stdout: path.join(place.folder, AGENT_FILES.stdout),
      stderr: path.join(place.folder, AGENT_FILES.stderr),
    },
    clocks: { graceMs, idleMs, toolIdleMs },
    masking: maskingOf(secretsOf(made.ready), order.keepCredentials),
    stop: by => prepared.stop(by),
    onEvent: around.onEvent,
  });
  made.door?.onSpeech(speech => watch.heard(speech));
  made.door?.onQuestion(adapter.questionTools, () => watch.asked());
  made.door?.onOver(detail => watch.halt({ reason: 'limit_budget', detail }));
  let failure: { readonly error: unknown } | undefined;
  try {
    const capture = await runToEnd(run, (stream, bytes) => {
      if (failure) return;
      try {
        watch.take(stream, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      } catch (error) {
        // An agent whose output cannot be stored must not continue.
        failure = { error };
        prepared.stop('cancel');
      }
    });
    if (failure) throw failure.error;
    return { capture, seen: watch.end({ lastMessage: lastMessageOf(run) }) };
  } finally {
    watch.close();
  }
}

/** An idle limit that is not below the timeout expires only after the timeout. */
function timesOf(bound: CheckedAgentRun['bound']) {
  const { timeout_ms, grace_ms: graceMs, idle_timeout_ms, tool_idle_timeout_ms } = clocksOf(bound);
  const after = (ms: number): number => (ms < timeout_ms ? ms : timeout_ms + WALL_CLOCK_FIRST_MS);
  return { graceMs, idleMs: after(idle_timeout_ms), toolIdleMs: after(tool_idle_timeout_ms) };
}

const WALL_CLOCK_FIRST_MS = 10_000;

/** The last message that some agents leave in a file, masked. */
function lastMessageOf({ prepared, made: { invocation, door, ready } }: StartedRun<AgentTypes>): string | null {
  if (invocation.lastMessageFile === undefined) return null;
  const bytes = readRegular(path.join(prepared.workFolder, 'home', invocation.lastMessageFile), MESSAGE_BYTES_MAX);
  return bytes ? maskOf(ready, door)(bytes.toString()) : null;
}

const MESSAGE_BYTES_MAX = 1024 * 1024;

function noteOf({ bytesTotal, sha256, masked, kinds }: KeptStream, { bytes }: Stored): StreamNote {
  return { bytesTotal, sha256, masked, ...(kinds && { kinds }), bytesKept: Math.min(bytes, bytesTotal) };
}

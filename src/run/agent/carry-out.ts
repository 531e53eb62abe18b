import { existsSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { maskingOf } from '../../base/masker.ts';
import { readRegular } from '../../base/regular.ts';
import type { Capture, KeptStream } from '../../contracts/capture.ts';
import { AGENT_FILES, agentDocuments, resultOf } from '../../evidence/agent-documents.ts';
import type { AgentFiles, AgentLine, AgentPlan, AgentRun, Stored } from '../../evidence/agent-run.ts';
import { finish, sealingOf } from '../../evidence/finish.ts';
import type { Journal } from '../../evidence/journal.ts';
import { PARTS, PASSING } from '../../evidence/left.ts';
import type { RunPlace } from '../../evidence/runs.ts';
import type { StreamNote } from '../../evidence/script-run.ts';
import { storedFiles } from '../../evidence/sealed-files.ts';
import type { Job } from '../../execute/job.ts';
import type { Prepared } from '../../execute/launch.ts';
import { RefWatch } from '../../execute/ref-watch.ts';
import { sweep } from '../../execute/sweep.ts';
import { guardOf } from '../../policy/run-violations.ts';
import { watched } from '../recorded.ts';
import type { AgentAnswer, Made, Ready } from './agent.ts';
import { clocksOf } from './bound.ts';
import { judged } from './judged.ts';
import { maskedLeft, maskOf } from './masked.ts';
import { accessOf, secretsOf } from './model.ts';
import { AgentWatch, type Seen } from './watch.ts';
import { workspaceAfter } from './workspace-after.ts';

/** A run whose sandbox is made. */
export interface Going {
  readonly ready: Ready;
  readonly made: Made;
  readonly prepared: Prepared;
  readonly job: Job;
  readonly plan: AgentPlan;
}

/** Lets the agent work to its end, looks at what it did when everything of it is dead, and writes the evidence. */
export async function carryOut(going: Going, place: RunPlace, journal: Journal<AgentLine>): Promise<AgentAnswer> {
  const { ready, made, prepared, plan } = going;
  const { folder } = place;
  made.door?.countIn(path.join(folder, PARTS.door));
  journal.append({ is: 'started', atMs: systemClock.now() });
  const refs = watchedRefs(going);
  const { capture, seen } = await listenTo(going, folder).finally(() => refs?.close());
  const noted = {
    ...capture,
    stdout: noteOf(capture.stdout, seen.files.stdout),
    stderr: noteOf(capture.stderr, seen.files.stderr),
    ...(capture.leftRunning && { leftRunning: maskedLeft(capture.leftRunning, maskOf(ready, made.door)) }),
  };
  journal.append({ is: 'captured', atMs: systemClock.now(), capture: noted });
  const after = await workspaceAfter(going, folder, refs?.written() ?? new Set());
  if (capture.ending.how !== 'out_of_memory' && !existsSync(prepared.workFolder))
    throw new Fault('sandbox_lost', 'The sandbox died before its files could be taken.');
  // A recording that could not be written is told when the run is: its evidence is none the worse for it.
  await made.door?.close().catch(() => undefined);
  const access = accessOf(ready, made.door);
  const files: AgentFiles = { ...seen.files, diff: after.diff };
  const { judgement, violations, needsReview } = judged({ going, capture, seen, after, access, files });
  // The clock of the machine may have been set back meanwhile.
  const completedAtMs = Math.max(systemClock.now(), plan.startedAtMs);
  journal.append({ is: 'read', atMs: completedAtMs, reading: judgement });
  // Not before: as long as the journal does not hold what the agent changed, only the sandbox does. Who cannot close it any
  // more is dead; what is left of it goes all the same.
  const closed = prepared.close().catch(() => sweep(prepared.leftovers));
  const run: AgentRun = { plan, capture: noted, judgement, completedAtMs };
  await finish(folder, {
    runId: plan.request.run_id,
    kind: 'agent',
    documents: agentDocuments(run),
    stored: storedFiles(placed(files)),
    passing: PASSING,
    sealedAtMs: completedAtMs,
    ...sealingOf(ready.around),
  });
  await closed;
  const { effective } = ready.bound;
  return { place, run, result: resultOf(run), effective, violations, changes: after.counts, needsReview };
}

/** Where the tree is read-only, no ref can be written. */
function watchedRefs({ ready, prepared }: Going): RefWatch | undefined {
  if (ready.bound.effective.execution_posture === 'read_only') return undefined;
  return new RefWatch(path.join(prepared.workFolder, 'output', '.git'));
}

/** Runs the program, and hears every line of it as it comes. */
async function listenTo({ ready, made, prepared }: Going, folder: string): Promise<{ capture: Capture; seen: Seen }> {
  const { adapter, bound, around } = ready;
  const { graceMs, idleMs, toolIdleMs } = timesOf(bound);
  const watch = new AgentWatch({
    reader: adapter.reader({
      approval: bound.effective.approval_posture,
      maxTurns: bound.limits.maxTurns,
      isGuarded: guardOf(bound.effective),
    }),
    keeping: {
      transcript: path.join(folder, AGENT_FILES.transcript),
      stdout: path.join(folder, AGENT_FILES.stdout),
      stderr: path.join(folder, AGENT_FILES.stderr),
    },
    clocks: { graceMs, idleMs, toolIdleMs },
    masking: maskingOf(secretsOf(ready), ready.order.keepCredentials),
    stop: by => prepared.stop(by),
    onEvent: around.onEvent,
  });
  made.door?.onQuestion(adapter.questionTools, () => watch.asked());
  made.door?.onOver(detail => watch.halt({ reason: 'limit_budget', detail }));
  made.door?.onSpeech(speech => watch.heard(speech));
  let failure: { readonly error: unknown } | undefined;
  try {
    const capture = await watched(prepared, around, (stream, bytes) => {
      if (failure) return;
      try {
        watch.take(stream, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      } catch (error) {
        // Whoever cannot write down what an agent says must not let it go on.
        failure = { error };
        prepared.stop('cancel');
      }
    });
    if (failure) throw failure.error;
    return { capture, seen: watch.end({ lastMessage: lastMessageOf(prepared, made, ready) }) };
  } finally {
    watch.close();
  }
}

/** Where an agent may be silent for as long as it may run, it is the wall clock that ends it, and this one comes later. */
function timesOf(bound: Ready['bound']) {
  const { timeout_ms, grace_ms: graceMs, idle_timeout_ms, tool_idle_timeout_ms } = clocksOf(bound);
  const after = (ms: number): number => (ms < timeout_ms ? ms : timeout_ms + WALL_CLOCK_FIRST_MS);
  return { graceMs, idleMs: after(idle_timeout_ms), toolIdleMs: after(tool_idle_timeout_ms) };
}

const WALL_CLOCK_FIRST_MS = 10_000;

/** The file in which some agents leave their last words, without the secrets in it. */
function lastMessageOf({ workFolder }: Prepared, { invocation, door }: Made, ready: Ready): string | null {
  if (invocation.lastMessageFile === undefined) return null;
  const bytes = readRegular(path.join(workFolder, 'home', invocation.lastMessageFile), MESSAGE_BYTES_MAX);
  if (!bytes) return null;
  return maskOf(ready, door)(bytes.toString());
}

const MESSAGE_BYTES_MAX = 1024 * 1024;

function noteOf({ bytesTotal, sha256, masked, kinds }: KeptStream, { bytes }: Stored): StreamNote {
  return { bytesTotal, sha256, masked, ...(kinds && { kinds }), bytesKept: Math.min(bytes, bytesTotal) };
}

function placed(files: AgentFiles) {
  return Object.entries(files).flatMap(([name, stored]) =>
    stored ? [{ path: AGENT_FILES[name as keyof AgentFiles], ...(stored as Stored) }] : [],
  );
}

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newRunId } from '../base/ids.ts';
import { Masker, maskingOf } from '../base/masker.ts';
import type { Capture } from '../contracts/capture.ts';
import type { Ending } from '../contracts/ending.ts';
import { documentsOf } from '../evidence/documents.ts';
import { finish, sealingOf } from '../evidence/finish.ts';
import { flaggedFiles, hasTellingName } from '../evidence/ingest/flags.ts';
import { ingestOutput, type OutputReading } from '../evidence/ingest/output.ts';
import { quarantineOutput } from '../evidence/ingest/quarantine.ts';
import { breach } from '../evidence/ingest/reason.ts';
import { readResult } from '../evidence/ingest/result.ts';
import type { Journal } from '../evidence/journal.ts';
import { PASSING } from '../evidence/left.ts';
import type { RunPlace } from '../evidence/runs.ts';
import { storedFiles } from '../evidence/sealed-files.ts';
import type { ScriptLine, ScriptPlan, ScriptReading } from '../evidence/script-run.ts';
import { storedStream } from '../evidence/stored-stream.ts';
import { removeAfter } from '../execute/abandoned.ts';
import { observe } from '../execute/canary.ts';
import type { Job } from '../execute/job.ts';
import type { Prepared } from '../execute/launch.ts';
import { takeSlot } from '../execute/slots.ts';
import { sweep } from '../execute/sweep.ts';
import { makeStage, removeStage, stageFile, stageTools } from '../execute/workspace.ts';
import { effectiveBounds } from '../policy/bounds.ts';
import type { Caps } from '../policy/caps.ts';
import { checkOrder, type CheckedOrder, INPUT_BYTES_MAX, SCRIPT_BYTES_MAX, type ScriptOrder } from './order.ts';
import { jobFor, offersOf, planOf } from './plan.ts';
import { readingOf } from './reading.ts';
import { type Around, Onlooker, recordRun, watched } from './recorded.ts';

/** How a script's run ended, and where its evidence is. */
export interface ScriptAnswer {
  readonly place: RunPlace;
  readonly plan: ScriptPlan;
  readonly ending: Ending;
  readonly reading: ScriptReading;
  readonly forksDenied: number;
  readonly completedAtMs: number;
}

/** Runs a script within its bounds, takes what it left without trusting it, and writes the evidence. */
export async function runScript(order: ScriptOrder, around: Around): Promise<ScriptAnswer> {
  const checked = checkOrder(order);
  try {
    return await runChecked(checked, around);
  } finally {
    // What a dead launcher had made beside the sandbox of this run, only its name tells.
    if (around.launcher.isLost()) await removeAfter(around.launcher.pid);
  }
}

async function runChecked(checked: CheckedOrder, around: Around): Promise<ScriptAnswer> {
  const machine = await around.launcher.machine();
  const effective = effectiveBounds(checked.bounds, offersOf(machine));
  const id = newRunId('script', systemClock);
  const free = await takeSlot(around);
  let stage: string | undefined;
  try {
    stage = makeStage(id);
    const startedAtMs = systemClock.now();
    const { script, inputs } = layOut(checked, stage);
    const keepIn = path.join(around.home, 'runs', 'script', id, 'evidence', 'internal');
    const job = { ...jobFor(id, checked, effective, stage, around.onOutput !== undefined), keepIn };
    const observed = job.backend === 'none' ? [] : await observe(around.launcher, job, path.join(around.home, 'cache'));
    const prepared = await around.launcher.open(job);
    const plan = planOf({ id, order: checked, effective, machine, job, script, inputs, observed, startedAtMs });
    const onlooker = new Onlooker(around.onOutput);
    const answer = await recordRun<ScriptLine, ScriptAnswer>(
      { prepared, id, lane: 'script', planned: { is: 'planned', plan }, around },
      (place, journal) => carryOut({ prepared, job, plan, caps: checked.caps, around, onlooker }, place, journal),
    );
    if (onlooker.failure) throw onlooker.failure.error;
    return answer;
  } finally {
    free();
    if (stage !== undefined) removeStage(stage);
  }
}

/** Copies the script and its inputs to where the program will find them. */
function layOut({ script, inputs }: CheckedOrder, stage: string) {
  stageTools(stage);
  let bytesLeft = INPUT_BYTES_MAX;
  return {
    script: stageFile(script.source, stage, path.join('work', script.name), 0o755, SCRIPT_BYTES_MAX),
    inputs: inputs.map(({ source, name }) => {
      const staged = stageFile(source, stage, path.join('work', 'input', name), 0o644, bytesLeft);
      bytesLeft -= staged.bytes;
      return staged;
    }),
  };
}

/** A run whose sandbox is made. */
interface Going {
  readonly prepared: Prepared;
  readonly job: Job;
  readonly plan: ScriptPlan;
  readonly caps: Caps;
  readonly around: Around;
  readonly onlooker: Onlooker;
}

async function carryOut(going: Going, place: RunPlace, journal: Journal<ScriptLine>): Promise<ScriptAnswer> {
  const { prepared, job, plan, around } = going;
  const { folder } = place;
  journal.append({ is: 'started', atMs: systemClock.now() });
  const capture = await watched(prepared, around, going.onlooker.show);
  const { stdout, stderr, ...rest } = capture;
  const streams = { stdout: storedStream(stdout), stderr: storedStream(stderr) };
  const noted = { ...rest, stdout: streams.stdout.note, stderr: streams.stderr.note };
  journal.append({ is: 'captured', atMs: systemClock.now(), capture: noted });
  const { reading, fault } = await take(going, folder, capture);
  // A sandbox that died meanwhile took its files along: that they are missing says nothing of the script. Where memory
  // ran out, the kernel may have ended the sandbox with the script, and the verdict is clear without them.
  if (job.backend !== 'none' && capture.ending.how !== 'out_of_memory' && !existsSync(prepared.workFolder))
    throw new Fault('sandbox_lost', 'The sandbox died before its files could be taken.');
  // Who cannot close it any more is dead; what is left of it goes all the same.
  const closed = prepared.close().catch(() => sweep(prepared.leftovers));
  // The clock of the machine may have been set back meanwhile.
  const completedAtMs = Math.max(systemClock.now(), plan.startedAtMs);
  journal.append({ is: 'read', atMs: completedAtMs, reading });
  await finish(folder, {
    runId: job.id,
    kind: 'script',
    documents: documentsOf(
      { plan, capture: noted, reading, completedAtMs },
      { stdout: streams.stdout.bytes, stderr: streams.stderr.bytes },
    ),
    stored: storedFiles(reading.files),
    passing: PASSING,
    sealedAtMs: completedAtMs,
    ...sealingOf(around),
  });
  await closed;
  // The evidence says what the script did and what went wrong here; whoever asked for the run is told, too.
  if (fault) throw fault;
  return { place, plan, ending: capture.ending, reading, forksDenied: capture.forksDenied ?? 0, completedAtMs };
}

interface Taken {
  readonly reading: ScriptReading;
  /** Why its output could not be stored, which is no fault of the script. */
  readonly fault?: Fault;
}

/** Takes what the script left, while its file system is still there. */
async function take({ prepared, job, plan, caps }: Going, folder: string, { ending }: Capture): Promise<Taken> {
  const { secrets, keepCredentials = false } = job;
  const masking = maskingOf(secrets, keepCredentials);
  const { max_output_files: filesMax, max_total_output_bytes: bytesMax } = plan.runner.limits;
  const internal = path.join(folder, 'evidence', 'internal');
  const result = readResult(prepared.workFolder);
  const target = path.join(folder, 'output');
  const limits = { filesMax, bytesMax, fileBytesMax: bytesMax };
  const facts = { ending, result, secrets, keepCredentials, caps, correlationId: plan.correlationId };
  const stored = await ingestOutput(prepared.workFolder, target, limits).catch(storingFault);
  if (stored instanceof Fault) return { reading: readingOf({ ...facts, output: stored, flagged: [] }), fault: stored };
  const output = unnamed(stored, target, secrets);
  const raw = path.join(internal, 'result.raw');
  if (result.bytes) writeFileSync(raw, new Masker(masking).whole(result.bytes), { mode: 0o600 });
  if (!output.ok) await quarantineOutput(prepared.workFolder, path.join(internal, 'quarantine'), masking);
  const flagged = output.ok ? flaggedFiles(folder, output.files, secrets) : [];
  return { reading: readingOf({ ...facts, output, flagged }) };
}

/** What could not be stored, mostly for want of room, must not hide the result, which was read. */
function storingFault(error: unknown): Fault {
  if (error instanceof Fault && error.code === 'ingest_io') return error;
  throw error;
}

/** Output in which a name tells a secret is not kept. */
function unnamed(output: OutputReading, target: string, secrets: readonly string[]): OutputReading {
  if (!output.ok || !hasTellingName(output.files, secrets)) return output;
  rmSync(target, { recursive: true, force: true });
  const seen = { files: output.files.length, bytes: output.bytesTotal };
  return { ...breach('artifact_name_invalid', 'the name of a file in output/ holds a declared secret'), seen };
}

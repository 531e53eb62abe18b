import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { newRunId } from '../../base/ids.ts';
import { Masker, maskingOf } from '../../base/masker.ts';
import type { Ending } from '../../contracts/ending.ts';
import { scriptDocuments } from '../../evidence/script/script-documents.ts';
import { flaggedFiles, hasSecretInName } from '../../evidence/ingest/flags.ts';
import { ingestOutput, type OutputReading } from '../../evidence/ingest/output.ts';
import { quarantineOutput } from '../../evidence/ingest/quarantine.ts';
import { breach } from '../../evidence/ingest/reason.ts';
import { readResult } from '../../evidence/ingest/result.ts';
import type { RunFolder } from '../../evidence/run-folder/runs.ts';
import { scriptKind } from '../../evidence/script/script-recover.ts';
import type { ScriptPlan, ScriptReading } from '../../evidence/script/script-run.ts';
import type { Machine } from '../../execute/host/machine.ts';
import { stageFile, stageTools } from '../../execute/host/workspace.ts';
import { effectiveLimits } from '../../policy/effective-limits.ts';
import type { Caps } from '../../policy/caps.ts';
import type { JudgedStep, JournaledRun, RunContext, StartedRun } from '../pipeline/journaled-run.ts';
import { checkOrder, type CheckedOrder, INPUT_BYTES_MAX, SCRIPT_BYTES_MAX, type ScriptOrder } from './order.ts';
import { runJournaled } from '../pipeline/pipeline.ts';
import { offersOf } from '../pipeline/runner-plan.ts';
import { scriptJob, type PlannedScriptRun, scriptPlan } from './plan.ts';
import { scriptReading } from './reading.ts';
import { refuseLostSandbox, type WatchedStreams, watchStreams } from '../pipeline/steps.ts';

/** How a script run ended, and where its evidence is. */
export interface ScriptAnswer {
  readonly place: RunFolder;
  readonly plan: ScriptPlan;
  readonly ending: Ending;
  readonly reading: ScriptReading;
  readonly forksDenied: number;
  readonly completedAtMs: number;
}

/** Runs a script within its limits, reads its output without trusting it, and writes the evidence. */
export async function executeScript(order: ScriptOrder, context: RunContext): Promise<ScriptAnswer> {
  const checked = checkOrder(order);
  const { place, plan, seen, judged, completedAtMs } = await runJournaled(context, machine =>
    scriptRun(checked, machine, context.onOutput !== undefined),
  );
  const { ending, forksDenied = 0 } = seen.capture;
  return { place, plan, ending, reading: judged.reading, forksDenied, completedAtMs };
}

interface ScriptTypes {
  readonly plan: ScriptPlan;
  readonly made: Pick<PlannedScriptRun, 'job' | 'script' | 'inputs' | 'startedAtMs'>;
  readonly seen: WatchedStreams;
  readonly judged: JudgedStep<ScriptReading>;
}

function scriptRun(order: CheckedOrder, machine: Machine, live: boolean): JournaledRun<ScriptTypes> {
  const effective = effectiveLimits(order.bounds, offersOf(machine));
  const id = order.runId ?? newRunId('script', systemClock);
  return {
    kind: scriptKind,
    id,
    prepare(stage, folder) {
      const startedAtMs = systemClock.now();
      const staged = layOut(order, stage);
      const keepIn = path.join(folder, 'evidence', 'internal');
      return { job: { ...scriptJob(id, order, effective, stage, live), keepIn }, ...staged, startedAtMs };
    },
    plan: (made, observed) => scriptPlan({ id, order, effective, machine, ...made, observed }),
    watch: watchStreams,
    async judge(run, { capture }) {
      const judged = await take(run, order.caps, capture.ending);
      if (run.made.job.backend !== 'none') refuseLostSandbox(run, capture);
      return judged;
    },
    documents: ({ plan, seen: { capture, streams }, judged: { reading }, completedAtMs }) =>
      scriptDocuments({ plan, capture, reading, completedAtMs }, streams),
  };
}

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

/** Stores and judges what the script left. */
async function take(
  { place: { folder }, prepared, plan, made: { job } }: StartedRun<ScriptTypes>,
  caps: Caps,
  ending: Ending,
): Promise<JudgedStep<ScriptReading>> {
  const { secrets, keepCredentials = false } = job;
  const masking = maskingOf(secrets, keepCredentials);
  const { max_output_files: filesMax, max_total_output_bytes: bytesMax } = plan.runner.limits;
  const internal = path.join(folder, 'evidence', 'internal');
  const result = readResult(prepared.workFolder);
  const target = path.join(folder, 'output');
  const limits = { filesMax, bytesMax, fileBytesMax: bytesMax };
  const facts = { ending, result, secrets, keepCredentials, caps, correlationId: plan.correlationId };
  const stored = await ingestOutput(prepared.workFolder, target, limits).catch(storingFault);
  if (stored instanceof Fault) {
    return { reading: scriptReading({ ...facts, output: stored, flagged: [] }), stored: [], fault: stored };
  }
  const output = unnamed(stored, target, secrets);
  const raw = path.join(internal, 'result.raw');
  if (result.bytes) writeFileSync(raw, new Masker(masking).whole(result.bytes), { mode: 0o600 });
  if (!output.ok) await quarantineOutput(prepared.workFolder, path.join(internal, 'quarantine'), masking);
  const flagged = output.ok ? flaggedFiles(folder, output.files, secrets) : [];
  const reading = scriptReading({ ...facts, output, flagged });
  return { reading, stored: reading.files };
}

/** A full disk must not hide the result, which was already read. */
function storingFault(error: unknown): Fault {
  if (error instanceof Fault && error.code === 'ingest_io') return error;
  throw error;
}

/** Removes output if a file name contains a secret. */
function unnamed(output: OutputReading, target: string, secrets: readonly string[]): OutputReading {
  if (!output.ok || !hasSecretInName(output.files, secrets)) return output;
  rmSync(target, { recursive: true, force: true });
  const seen = { files: output.files.length, bytes: output.bytesTotal };
  return { ...breach('artifact_name_invalid', 'the name of a file in output/ contains a declared secret'), seen };
}

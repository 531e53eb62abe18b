import { canonicalize } from '../../base/canonical.ts';
import type { Ending } from '../../contracts/ending.ts';
import type { ScriptOutcome } from '../../contracts/script-outcome/shape.ts';
import { type ScriptResult, scriptResult } from '../../contracts/script-result/index.ts';
import type { Document } from '../document.ts';
import { stepTermination } from '../step/endings.ts';
import type { StoredStreams, StreamNote } from '../step/capture-note.ts';
import { logOf } from '../step/log.ts';
import { recordedMasking, recordOf, streamOf } from '../step/record.ts';
import type { ScriptRun } from './script-run.ts';
import { finalState } from './final-state.ts';
import { type Artifact, stepDocuments } from '../step/step-documents.ts';
import { usageOf } from '../step/usage.ts';

const STEP = 'script';
const STEP_FOLDER = `evidence/steps/${STEP}`;

/**
 * Builds every document of a script run except the script's own files and the seal. Pure: reads and writes no files.
 */
export function scriptDocuments(run: ScriptRun, streams: StoredStreams): Document[] {
  const { plan, capture, reading, completedAtMs } = run;
  const runner = recordOf(plan.runner, capture, reading.warnings, plan.startedAtMs, completedAtMs);
  const result = canonicalize(resultOf(run));
  const outcome = outcomeOf(run);
  const artifacts: Artifact[] = [
    ['validation_report', 'result.json', 'application/json', result],
    ['validation_stdout', `${STEP_FOLDER}/stdout.txt`, TEXT, streams.stdout],
    ['validation_stderr', `${STEP_FOLDER}/stderr.txt`, TEXT, streams.stderr],
  ];
  const step = stepDocuments({
    runId: run.plan.request.run_id,
    step: STEP,
    termination: stepTermination(run.capture.ending, run.reading.status === 'succeeded'),
    startedAtMs: run.plan.startedAtMs,
    endedAtMs: run.completedAtMs,
    runner,
    artifacts,
    required: ['validation_report'],
    notes: run.reading.reason === null ? [] : [`reason: ${run.reading.reason}`],
  });
  return [
    ['result.json', result],
    ['evidence/request.json', canonicalize(run.plan.request)],
    ...(typeof runner === 'string' ? [] : [['evidence/runner.json', canonicalize(runner)] as const]),
    ['evidence/outcome.json', canonicalize(outcome)],
    ['evidence/final-state.txt', finalState(run)],
    ...step,
    [`${STEP_FOLDER}/stdout.txt`, streams.stdout],
    [`${STEP_FOLDER}/stderr.txt`, streams.stderr],
    ...logOf(reading.remarks, completedAtMs, plan.correlationId),
  ];
}

const TEXT = 'text/plain; charset=utf-8';

/** Lists as many files as fit into a result. The seal lists them all. */
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

function outcomeOf({ plan, capture, reading, recovered }: ScriptRun): ScriptOutcome {
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
    usage: usageOf(capture),
    ...(recovered && { recovered }),
    ...recordedMasking(reading.masking, capture),
  };
}

function cutOf(what: string, { bytesTotal, bytesKept }: StreamNote): ScriptOutcome['cuts'] {
  return bytesKept < bytesTotal ? [{ what, bytes_total: bytesTotal, bytes_kept: bytesKept }] : [];
}

import { canonicalize } from '../base/canonical.ts';
import { instantText } from '../base/clock.ts';
import { addedKinds } from '../base/masker.ts';
import type { Ending } from '../contracts/ending.ts';
import type { Runner } from '../contracts/runner/shape.ts';
import type { MaskingNote } from '../contracts/script-outcome/masking.ts';
import type { ScriptOutcome } from '../contracts/script-outcome/shape.ts';
import { type ScriptResult, scriptResult } from '../contracts/script-result/index.ts';
import { exitOf, terminationOf } from './endings.ts';
import type { CaptureNote, Remark, ScriptRun, StoredStreams, StreamNote } from './script-run.ts';
import { finalState } from './final-state.ts';
import { type Artifact, stepDocuments } from './step-documents.ts';
import { usageOf } from './usage.ts';

/** A file of the run folder: its path, its bytes, and their hash if already known. */
export type Document = readonly [path: string, bytes: string | Uint8Array, sha256?: string];

const STEP = 'script';
const STEP_FOLDER = `evidence/steps/${STEP}`;

/**
 * Builds every document of a script run except the script's own files and the seal. Pure: reads and writes no files.
 */
export function documentsOf(run: ScriptRun, streams: StoredStreams): Document[] {
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
    termination: terminationOf(run.capture.ending, run.reading.status === 'succeeded'),
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

/** Builds the runner record, or says why there is none: record 1.0.0 cannot leave the exit unknown. */
export function recordOf(planned: Omit<Runner, 'timing' | 'exit'>, ...rest: RunFacts): Runner | string {
  const [{ ending }] = rest;
  return ending.how === 'lost' ? EXIT_UNKNOWN : runnerOf(planned, ...rest);
}

const EXIT_UNKNOWN =
  'Proctor was interrupted and did not see how the program ended. A runner record must state an exit.';

type RunFacts = [capture: CaptureNote, further: readonly string[], startedAtMs: number, completedAtMs: number];

function runnerOf(
  planned: Omit<Runner, 'timing' | 'exit'>,
  ...[capture, further, startedAtMs, completedAtMs]: RunFacts
): Runner {
  const warnings = [...(planned.warnings ?? []), ...further].sort();
  const end = capture.phases.at(-1);
  const torn = end ? end.startedAtMs + end.durationMs : startedAtMs;
  const phases = [
    ...capture.phases,
    { name: 'teardown', startedAtMs: torn, durationMs: Math.max(0, completedAtMs - torn) },
  ];
  return {
    ...planned,
    timing: {
      started_at: instantText(startedAtMs),
      completed_at: instantText(completedAtMs),
      duration_ms: completedAtMs - startedAtMs,
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
    ...maskingOf(reading.masking, capture),
  };
}

export function streamOf(
  name: 'stdout' | 'stderr',
  { bytesTotal, sha256, bytesKept, masked }: StreamNote,
): ScriptOutcome['streams'][number] {
  return { name, bytes_total: bytesTotal, sha256, bytes_kept: bytesKept, truncated: bytesKept < bytesTotal, masked };
}

/** Adds the kinds of secrets masked in the streams. */
export function maskingOf(note: MaskingNote | undefined, capture: CaptureNote): { masking?: MaskingNote } {
  if (!note) return {};
  return { masking: { ...note, kinds: addedKinds(note.kinds, capture.stdout.kinds, capture.stderr.kinds) } };
}

function cutOf(what: string, { bytesTotal, bytesKept }: StreamNote): ScriptOutcome['cuts'] {
  return bytesKept < bytesTotal ? [{ what, bytes_total: bytesTotal, bytes_kept: bytesKept }] : [];
}

/** The internal log, for operators only. */
export function logOf(remarks: readonly Remark[], completedAtMs: number, correlationId: string): Document[] {
  if (remarks.length === 0) return [];
  const at = instantText(completedAtMs);
  const lines = remarks.map(({ level, code, detail }) =>
    canonicalize({ at, level, code, detail, correlation_id: correlationId }),
  );
  return [['evidence/internal/log.ndjson', `${lines.join('\n')}\n`]];
}

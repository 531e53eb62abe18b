import { canonicalize } from '../../base/canonical.ts';
import { instantText } from '../../base/clock.ts';
import { contentHash } from '../../base/hash.ts';
import { printable } from '../../base/printable.ts';
import { VERSION } from '../../base/version.ts';
import { type IntentOutcome, sandboxIdOf, shownCommand } from '../../contracts/intent/index.ts';
import type { RunResult } from '../../contracts/run-result/index.ts';
import type { Document } from '../document.ts';
import { logOf } from '../step/log.ts';
import { recordedMasking, recordOf, streamOf } from '../step/record.ts';
import { stepTermination } from '../step/endings.ts';
import { endingText } from '../step/endings.ts';
import type { IntentRun, IntentTexts } from './intent-run.ts';
import type { StoredStreams } from '../step/capture-note.ts';
import { type Artifact, stepDocuments } from '../step/step-documents.ts';
import { usageOf } from '../step/usage.ts';

const STEP = 'intent';
export const INTENT_STEP_FOLDER = `evidence/steps/${STEP}`;

/** Builds every document of an intent run except the outputs and the seal. Pure: reads and writes no files. */
export function intentDocuments(run: IntentRun, texts: IntentTexts, streams: StoredStreams): Document[] {
  const { plan, ran, completedAtMs } = run;
  const result = runResultOf(run, texts);
  const text = canonicalize(result);
  const runner =
    plan.going && ran ? recordOf(plan.going.runner, ran.capture, [], plan.startedAtMs, completedAtMs) : NOTHING_RAN;
  const said: Document[] = ran
    ? [
        [`${INTENT_STEP_FOLDER}/stdout.txt`, streams.stdout],
        [`${INTENT_STEP_FOLDER}/stderr.txt`, streams.stderr],
      ]
    : [];
  const artifacts: Artifact[] = [
    ['validation_report', 'run.json', 'application/json', text],
    ...said.map(([file, bytes], index): Artifact => [ROLES[index] ?? '', file, TEXT, bytes]),
  ];
  return [
    ['run.json', text],
    ['intent.json', texts.intent, plan.intentSha256],
    ...(texts.bundle ? [['bundle.json', canonicalize(texts.bundle)] as const] : []),
    ...(texts.recording ? [['model_io.json', texts.recording] as const] : []),
    ['policy.json', canonicalize(plan.policy)],
    ['evidence/request.json', canonicalize(plan.request)],
    ...(typeof runner === 'string' ? [] : [['evidence/runner.json', canonicalize(runner)] as const]),
    ...(ran ? [['evidence/outcome.json', canonicalize(outcomeOf(run, texts))] as const] : []),
    ['evidence/final-state.txt', finalState(run, result)],
    ...stepDocuments({
      runId: plan.request.run_id,
      step: STEP,
      // A plan-only run and a refusal both complete normally.
      termination: ran ? stepTermination(ran.capture.ending, ran.reading.exitCode === 0) : 'completed',
      startedAtMs: plan.startedAtMs,
      endedAtMs: completedAtMs,
      runner,
      artifacts,
      required: ['validation_report'],
      notes: [`result: ${result.kernel_result_kind}`, `accepted: ${result.decision.accepted}`],
    }),
    ...said,
    ...logOf(ran?.reading.remarks ?? [], completedAtMs, plan.correlationId),
  ];
}

const ROLES = ['validation_stdout', 'validation_stderr'];
const TEXT = 'text/plain; charset=utf-8';
const NOTHING_RAN = 'Nothing was run, so there is no runner record.';

/** The canonical result: only run_id, started_at and completed_at are random or depend on time. */
export function runResultOf(run: IntentRun, { bundle }: IntentTexts): RunResult {
  const { plan, ran, completedAtMs } = run;
  const { decided, request, policy } = plan;
  return {
    run_schema_version: '1.0.0',
    run_id: request.run_id,
    started_at: instantText(plan.startedAtMs),
    completed_at: instantText(completedAtMs),
    kernel_version: VERSION,
    policy,
    intent: { path: request.intent.name, sha256: plan.intentSha256 },
    bundle: bundle && { bundle_id: bundle.bundle_id, sha256: contentHash(bundle) },
    kernel_result_kind: decided.kind,
    execution: executionOf(run, bundle),
    decision: {
      accepted: decided.kind === 'BUNDLE' && (ran === undefined || ran.reading.exitCode === 0),
      reasons: reasonsOf(run, bundle),
      validated_by_kernel: true,
    },
    model_mode: request.model_mode,
    ...(decided.kind === 'CLARIFY' && { clarify_questions: [...decided.questions] }),
    ...(decided.kind === 'REFUSE' && { refuse_reason: decided.refusals.join(' ') }),
  };
}

function executionOf({ plan, ran }: IntentRun, bundle: IntentTexts['bundle']): RunResult['execution'] {
  if (!ran || !bundle) return null;
  const { capture, reading } = ran;
  if (reading.exitCode === null) return null;
  return {
    sandbox_id: sandboxIdOf(bundle.bundle_id, plan.policy),
    cmd: shownCommand(bundle.commands[capture.command ?? 0]?.argv ?? []),
    exit_code: reading.exitCode,
    stdout_sha256: capture.stdout.sha256,
    stderr_sha256: capture.stderr.sha256,
    outputs: reading.outputs.map(({ path, sha256, bytes }) => ({ path, sha256, size_bytes: bytes })),
    total_output_bytes: reading.outputs.reduce((sum, { bytes }) => sum + bytes, 0),
    output_truncated: reading.refused?.startsWith('artifact_limit') === true,
  };
}

function reasonsOf({ plan, ran }: IntentRun, bundle: IntentTexts['bundle']): string[] {
  if (ran) return [...ran.reading.reasons];
  if (plan.decided.kind === 'REFUSE') return [...plan.decided.refusals];
  const { files = [], commands = [], outputs = [], questions = [] } = bundle ?? {};
  if (questions.length > 0)
    return [`The plan is not complete: ${counted(questions.length, 'question')} must be answered.`];
  const parts = [counted(files.length, 'file'), counted(commands.length, 'command'), counted(outputs.length, 'output')];
  return [`The plan is complete: ${parts.join(', ')}. Nothing was run.`];
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

function outcomeOf({ plan, ran, recovered }: IntentRun, { bundle }: IntentTexts): IntentOutcome {
  if (!ran || !plan.going) throw new Error('an intent that did not run has no outcome');
  const { capture, reading } = ran;
  const { enforcement, limits, observed } = plan.going;
  const total = bundle?.commands.length ?? 0;
  return {
    schema_version: 'intent-outcome.v1',
    run_id: plan.request.run_id,
    correlation_id: plan.correlationId,
    ending: capture.ending,
    commands_total: total,
    // If Proctor was interrupted, it is unknown which of several commands was running.
    command: capture.command ?? (capture.ending.how === 'lost' && total > 1 ? null : 0),
    refused: reading.refused,
    missing_outputs: [...reading.missing],
    checks: reading.checks,
    streams: [streamOf('stdout', capture.stdout), streamOf('stderr', capture.stderr)],
    enforcement,
    observed,
    limits,
    usage: usageOf(capture),
    ...(recovered && { recovered }),
    ...recordedMasking(reading.masking, capture),
  };
}

function finalState({ plan, ran, completedAtMs }: IntentRun, { kernel_result_kind, decision }: RunResult): string {
  const lines = [
    `run        ${plan.request.run_id}`,
    `intent     ${printable(plan.request.intent.name)}`,
    `result     ${kernel_result_kind}, ${decision.accepted ? 'accepted' : 'not accepted'}`,
    `mode       ${plan.request.mode}, policy ${plan.policy.name}`,
    ...(ran ? [`ending     ${endingText(ran.capture.ending)}`] : []),
    `took       ${completedAtMs - plan.startedAtMs} ms`,
    ...decision.reasons.slice(0, REASONS_SHOWN).map(reason => `reason     ${printable(reason)}`),
  ];
  return `${lines.join('\n')}\n`;
}

const REASONS_SHOWN = 20;

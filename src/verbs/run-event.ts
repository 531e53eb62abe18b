import { clip } from '../base/clip.ts';
import { instantText } from '../base/clock.ts';
import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import type { RunEvent } from '../contracts/run-events.ts';
import { targetName } from '../contracts/suite/index.ts';
import type { CheckNote } from '../evidence/agent/check-steps.ts';
import type { AgentPlan } from '../evidence/agent/agent-run.ts';
import type { IntentPlan } from '../evidence/intent/intent-run.ts';
import type { JournalLine } from '../evidence/recovery/kind.ts';
import type { TailLine } from '../evidence/run-folder/journal-tail.ts';
import type { ScriptPlan } from '../evidence/script/script-run.ts';
import type { SuiteLine, SuitePlan } from '../evidence/suite/suite-run.ts';

/** An early verdict on a case; null if it is not known. */
export type EarlyVerdict = (artifact: CaseArtifact) => 'pass' | 'fail' | null;

/** A line as Proctor writes it. Another version may have written others. */
export type KnownLine = SuiteLine | JournalLine<AnyPlan>;

type AnyPlan = ScriptPlan | AgentPlan | IntentPlan;

/** Summarizes a proven line of a journal. */
export function lineEvent({ number: line, value }: TailLine, id: string, verdictOf: EarlyVerdict): RunEvent {
  try {
    return knownEvent(value as KnownLine, line, id, verdictOf) ?? { kind: 'other', id, data: { line } };
  } catch {
    // Another version of Proctor wrote this line.
    return { kind: 'other', id, data: { line } };
  }
}

function knownEvent(known: KnownLine, line: number, id: string, verdictOf: EarlyVerdict): RunEvent | undefined {
  switch (known.is) {
    case 'laying':
    case 'left':
      return { kind: known.is, id, data: { line } };
    case 'planned':
      return { kind: 'planned', id, data: { line, ...plannedOf(known.plan) } };
    case 'begun':
    case 'started':
    case 'read':
      return { kind: known.is, id, data: { line, at: instantText(known.atMs) } };
    case 'captured':
      return { kind: 'captured', id, data: { line, at: instantText(known.atMs), ending: known.capture.ending.how } };
    case 'noted':
      return { kind: 'noted', id, data: { line, at: instantText(known.atMs), ...checkOf(known.note) } };
    case 'sent': {
      const { attempt, atMs } = known;
      return { kind: 'sent', id, data: { line, case_id: known.id, attempt, at: instantText(atMs) } };
    }
    case 'running': {
      const { attempt, runId } = known;
      return { kind: 'running', id, data: { line, case_id: known.id, attempt, run_id: runId } };
    }
    case 'failed':
      return failedEvent(known, line, id);
    case 'case':
      return caseEvent(known, line, id, verdictOf);
    default:
      return undefined;
  }
}

function plannedOf(plan: AnyPlan | SuitePlan): {
  readonly run_kind: string;
  readonly subject: string | null;
  readonly cases: number | null;
} {
  const { request } = plan;
  const cases = request.kind === 'suite' ? request.cases.count : null;
  return { run_kind: request.kind, subject: short(subjectOf(plan)), cases };
}

function subjectOf(plan: AnyPlan | SuitePlan): string | undefined {
  if ('asked' in plan) return plan.asked.rendered_task_text;
  if (plan.request.kind === 'suite') return targetName(plan.request.target);
  return plan.request.kind === 'script' ? plan.request.script.name : undefined;
}

function checkOf(note: object): { readonly check: string | null; readonly verdict: string | null } {
  const { name, verdict } = (note as Partial<CheckNote>).result ?? {};
  return { check: short(name), verdict: short(verdict) };
}

function failedEvent(
  { id: case_id, attempt }: Extract<SuiteLine, { is: 'failed' }>,
  line: number,
  id: string,
): RunEvent {
  const { latency_ms = null, error_class = null, note } = attempt;
  const data = { line, case_id, attempt: attempt.attempt, latency_ms, error_class, message: short(note) };
  return { kind: 'failed', id, data };
}

function caseEvent(
  { id: case_id, artifact }: Extract<SuiteLine, { is: 'case' }>,
  line: number,
  id: string,
  verdictOf: EarlyVerdict,
): RunEvent {
  const { status, attempts = [], runner_failure: failure } = artifact;
  const last = attempts.at(-1);
  const data = {
    line,
    case_id,
    status,
    attempts: attempts.length,
    latency_ms: last?.latency_ms ?? null,
    error_class: failure?.class ?? null,
    message: short(failure?.error_message),
    run_id: short(last?.run_id),
    verdict: verdictOf(artifact),
  };
  return { kind: 'case', id, data };
}

function short(text: string | undefined): string | null {
  return text === undefined ? null : clip(text, TEXT_BYTES).text;
}

const TEXT_BYTES = 300;

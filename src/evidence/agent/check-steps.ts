import path from 'node:path';
import { canonicalize } from '../../base/canonical.ts';
import { parseInstant } from '../../base/clock.ts';
import { fileHash } from '../../base/file-hash.ts';
import { checkResult as contract, type CheckResult } from '../../contracts/check-result/index.ts';
import type { SealedFile } from '../../contracts/seal/statement.ts';
import { type Document, documentIn, keepsContract } from '../document.ts';
import { stepTermination } from '../step/endings.ts';
import type { Artifact, FurtherStep } from '../step/step-documents.ts';

/** A check as it is planned before the agent starts. */
export type PlannedCheck = Pick<
  CheckResult,
  'name' | 'command' | 'limits' | 'sandbox' | 'overlay' | 'paths' | 'report' | 'keep'
>;

/** A check that has ended, or could not run: its result, and the files that it left in its step folder. */
export interface CheckNote {
  readonly result: CheckResult;
  readonly stored: readonly SealedFile[];
}

/** The step of a check, and the folder of its files. */
export function checkStep(name: string): string {
  return `check-${name}`;
}

export function checkFolder(name: string): string {
  return `evidence/steps/${checkStep(name)}`;
}

/** The files that a check stores when it ends, and their roles. */
export const CHECK_FILES = {
  stdout: ['stdout.txt', 'validation_stdout', 'text/plain; charset=utf-8'],
  stderr: ['stderr.txt', 'validation_stderr', 'text/plain; charset=utf-8'],
  report: ['report.txt', 'harness_trace', 'text/plain; charset=utf-8'],
  restored: ['restored.diff', 'workspace_diff', 'text/x-diff'],
} as const;

/** The result of a check that has none: Proctor stopped before it ended. */
export function checkWithoutEnd(
  runId: string,
  planned: PlannedCheck,
  why: Pick<CheckResult, 'verdict' | 'reason' | 'message'>,
): CheckResult {
  return {
    schema_version: 'check-result.v1',
    run_id: runId,
    ...planned,
    ...why,
    decided_by: null,
    started_at: null,
    ended_at: null,
    duration_ms: null,
    ending: null,
    exit_code: null,
    streams: [],
    tests: null,
    restored: { total: 0, listed: [] },
    second_look: null,
  };
}

/** The checks of a run that was interrupted: those whose result was noted, and the others as not known. */
export function checksLeft(
  folder: string,
  runId: string,
  planned: readonly PlannedCheck[],
  noted: readonly unknown[],
): CheckNote[] {
  const notes = noted.filter(isCheckNote);
  return planned.map(check => {
    const note = notes.findLast(({ result }) => result.name === check.name);
    if (note && isIntact(folder, note.stored)) return note;
    return { result: checkWithoutEnd(runId, check, INTERRUPTED), stored: [] };
  });
}

const INTERRUPTED = {
  verdict: 'unknown',
  reason: 'interrupted',
  message: 'Proctor was interrupted before this check ended.',
} as const;

function isCheckNote(value: unknown): value is CheckNote {
  const { result, stored } = (value ?? {}) as Partial<CheckNote>;
  return Array.isArray(stored) && keepsContract(result, contract);
}

export function isIntact(folder: string, stored: readonly SealedFile[]): boolean {
  return stored.every(file => fileHash(path.join(folder, file.path)) === file.sha256);
}

/** The documents of all checks. Their other files already exist. */
export function checkDocuments(checks: readonly CheckNote[]): Document[] {
  return checks.map(({ result }) => [checkResultFile(result.name), canonicalize(result)]);
}

export function checkResultFile(name: string): string {
  return `${checkFolder(name)}/check_result.json`;
}

/** The steps of all checks, for their manifests and the run's events. */
export function checkSteps(checks: readonly CheckNote[], completedAtMs: number): FurtherStep[] {
  return checks.map(({ result, stored }) => {
    const { name, verdict, reason, ending } = result;
    const endedAtMs = Math.min(momentOf(result.ended_at) ?? completedAtMs, completedAtMs);
    return {
      step: checkStep(name),
      termination: ending === null ? 'error' : stepTermination(ending, verdict === 'passed'),
      startedAtMs: Math.min(momentOf(result.started_at) ?? endedAtMs, endedAtMs),
      endedAtMs,
      artifacts: [
        ['validation_report', checkResultFile(name), 'application/json', canonicalize(result)],
        ...storedArtifacts(name, stored),
      ],
      required: ['validation_report'],
      notes: [`check: ${verdict}, ${reason}`],
    };
  });
}

function momentOf(instant: string | null): number | undefined {
  return instant === null ? undefined : parseInstant(instant);
}

function storedArtifacts(name: string, stored: readonly SealedFile[]): Artifact[] {
  return Object.values(CHECK_FILES).flatMap(([file, role, mediaType]) => {
    const at = `${checkFolder(name)}/${file}`;
    const found = stored.find(each => each.path === at);
    return found ? [[role, at, mediaType, found] as const] : [];
  });
}

/** The results of the checks in a run folder, in the order of their steps. A result that violates its contract is left out. */
export function checksIn(folder: string, names: readonly string[]): CheckResult[] {
  return names.flatMap(name => (documentIn(folder, checkResultFile(name), contract) as CheckResult | undefined) ?? []);
}

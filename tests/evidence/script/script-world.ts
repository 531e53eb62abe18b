import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { bytesHash } from '../../../src/base/hash.ts';
import type { Capture, KeptStream } from '../../../src/contracts/capture.ts';
import type { Ending } from '../../../src/contracts/ending.ts';
import { runner } from '../../../src/contracts/runner/index.ts';
import type { Runner } from '../../../src/contracts/runner/shape.ts';
import { scriptOutcome, type ScriptOutcome } from '../../../src/contracts/script-outcome/index.ts';
import { scriptRequest, type ScriptRequest } from '../../../src/contracts/script-request/index.ts';
import type { Signer } from '../../../src/contracts/seal/index.ts';
import { scriptDocuments } from '../../../src/evidence/script/script-documents.ts';
import { storedFiles } from '../../../src/evidence/run-folder/sealed-files.ts';
import { finish } from '../../../src/evidence/run-folder/finish.ts';
import { PASSING } from '../../../src/evidence/recovery/recovery-parts.ts';
import type { Ledger } from '../../../src/evidence/ledger/ledger.ts';
import type { CaptureNote } from '../../../src/evidence/step/capture-note.ts';
import type { ScriptPlan, ScriptReading } from '../../../src/evidence/script/script-run.ts';
import { storedStream } from '../../../src/evidence/step/stored-stream.ts';
import { verify } from '../../../src/verify/index.ts';

export const STARTED_AT = Date.UTC(2026, 3, 3, 10, 15, 0);
export const COMPLETED_AT = STARTED_AT + 5_000;
export const CORRELATION = '0123456789abcdef';

/** The plan of a script run. */
export function plan(): ScriptPlan {
  const { timing: _, exit: __, ...record } = structuredClone(runner.example) as Runner;
  const { enforcement, limits, observed } = structuredClone(scriptOutcome.example) as ScriptOutcome;
  return {
    request: structuredClone(scriptRequest.example) as ScriptRequest,
    runner: record,
    enforcement,
    limits,
    observed,
    correlationId: CORRELATION,
    startedAtMs: STARTED_AT,
    owner: { pid: 1, startTicks: 1, bootId: 'boot' },
  };
}

/** A stream of which only the first and last bytes were kept. */
export function said(text: string | Uint8Array, headBytes = 1_000, tailBytes = 1_000): KeptStream {
  const bytes = Buffer.from(text as string);
  const rest = bytes.subarray(headBytes);
  return {
    bytesTotal: bytes.length,
    sha256: bytesHash(bytes),
    head: bytes.subarray(0, headBytes),
    tail: rest.subarray(Math.max(0, rest.length - tailBytes)),
    masked: 0,
  };
}

export function captureOf(ending: Ending, stdout = said('hello\n'), stderr = said('')): Capture {
  return {
    ending,
    phases: [
      { name: 'setup', startedAtMs: STARTED_AT + 10, durationMs: 90 },
      { name: 'execute', startedAtMs: STARTED_AT + 100, durationMs: 4_000 },
    ],
    stdout,
    stderr,
    cpuMs: 12.5,
    memoryPeakBytes: 1_000_000,
  };
}

/** A capture as the journal stores it. */
export function noteOf({ stdout, stderr, ...rest }: Capture): CaptureNote {
  return { ...rest, stdout: storedStream(stdout).note, stderr: storedStream(stderr).note };
}

/** Writes the evidence of a run whose files are already in the folder. */
export async function finishRun(
  folder: string,
  capture: Capture,
  reading: ScriptReading,
  of: ScriptPlan = plan(),
  signer?: Signer,
  ledger?: Ledger,
): Promise<void> {
  mkdirSync(path.join(folder, 'evidence', 'internal'), { recursive: true });
  const streams = { stdout: storedStream(capture.stdout).bytes, stderr: storedStream(capture.stderr).bytes };
  await finish(folder, {
    runId: of.request.run_id,
    kind: 'script',
    documents: scriptDocuments({ plan: of, capture: noteOf(capture), reading, completedAtMs: COMPLETED_AT }, streams),
    stored: storedFiles(reading.files),
    passing: PASSING,
    sealedAtMs: COMPLETED_AT,
    signer,
    ledger,
  });
}

/** All findings of the verifier on a folder: the rule, path and message of each violation, and every refusal. */
export async function troublesIn(folder: string): Promise<string[]> {
  const troubles: string[] = [];
  for await (const { violations, reason, input } of verify([folder])) {
    for (const { rule_id, path: at, message } of violations) troubles.push(`${rule_id} ${at ?? ''} ${message}`);
    if (reason) troubles.push(`${reason.code} ${path.relative(folder, input)}`);
  }
  return troubles;
}

/** Expects that a folder is valid and that every file is sealed. */
export async function expectValid(folder: string): Promise<void> {
  expect(await troublesIn(folder)).toEqual([]);
  for await (const { not_checked, within } of verify([folder])) {
    if (!within) expect(not_checked.join('; ')).not.toMatch(/no document refers|unknown format|no seal/);
  }
}

export function put(folder: string, file: string, content: string | Uint8Array): void {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  writeFileSync(path.join(folder, file), content);
}

/** A successful reading with these files. */
export function succeeded(files: Record<string, string> = {}): ScriptReading {
  const stored = Object.entries(files).map(([file, text]) => ({
    path: file,
    bytes: Buffer.byteLength(text),
    sha256: bytesHash(text),
  }));
  return {
    status: 'succeeded',
    claimedStatus: 'succeeded',
    reason: null,
    publicMessage: null,
    timeoutSource: null,
    salvaged: false,
    htmlOutput: '<p>Done.</p>',
    errorSummary: null,
    result: { sha256: bytesHash('{}'), bytes: 2, unknown_keys: [] },
    files: stored,
    artifacts: {
      files: stored.length,
      bytes: stored.reduce((sum, { bytes }) => sum + bytes, 0),
      declared_missing: [],
      undeclared: stored.length,
      size_mismatches: 0,
    },
    cuts: [],
    replaced: [],
    remarks: [],
    warnings: [],
  };
}

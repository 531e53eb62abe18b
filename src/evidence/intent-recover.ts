import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { instantText } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { bytesHash } from '../base/hash.ts';
import { readRegular } from '../base/regular.ts';
import type { Contract } from '../contracts/contract.ts';
import { type Bundle, bundle, intent, intentOutcome, intentRequest, modelIo } from '../contracts/intent/index.ts';
import { runResult } from '../contracts/run-result/index.ts';
import { runner } from '../contracts/runner/index.ts';
import { exitOf } from './endings.ts';
import { finish, type Sealing } from './finish.ts';
import { INTENT_STEP_FOLDER, intentDocuments } from './intent-documents.ts';
import type { IntentLine, IntentReading, IntentTexts } from './intent-run.ts';
import { lastSeenMs } from './last-seen.ts';
import { type Because, lineOf, lostCapture, PARTS, PASSING, removeUnfinished, streamLeft, unknownOf } from './left.ts';
import { documentIn } from './read.ts';
import { areSound } from './script-line.ts';
import type { CaptureNote } from './script-run.ts';
import { storedFiles } from './sealed-files.ts';

/**
 * Completes the run of an intent from its journal. False if nothing of it had run: then it is as if nobody had asked,
 * and the folder is taken away.
 */
export async function completeIntent(
  folder: string,
  journal: readonly unknown[],
  nowMs: number,
  because: Because,
  sealing: Sealing,
): Promise<boolean> {
  const lines = journal as readonly IntentLine[];
  const plan = lineOf(lines, 'planned')?.plan;
  const started = lineOf(lines, 'started');
  if (!plan?.going || !started) {
    removeUnbegun(folder);
    return false;
  }
  const captured = lineOf(lines, 'captured');
  const read = lineOf(lines, 'read');
  const completedAtMs = lastSeenMs(folder, {
    startedAtMs: plan.startedAtMs,
    timeoutMs: plan.going.runner.limits.timeout_ms,
    files: [PARTS.stdout, PARTS.stderr],
    stated: [started.atMs, captured?.atMs, read?.atMs],
    nowMs,
  });
  const stdout = streamLeft(folder, INTENT_STEP_FOLDER, 'stdout', captured?.capture.stdout);
  const stderr = streamLeft(folder, INTENT_STEP_FOLDER, 'stderr', captured?.capture.stderr);
  const capture = captured
    ? { ...captured.capture, stdout: stdout.note, stderr: stderr.note }
    : lostCapture(plan.startedAtMs, started.atMs, stdout.note, stderr.note, completedAtMs);
  const isRejected = read !== undefined && read.reading.exitCode !== 0;
  const reading = isRejected ? read.reading : unsealed(capture, because, read?.reading);
  const unknown = unknownOf(true, captured !== undefined, read ? [] : ['output', 'checks']);
  const recovered = { at: instantText(nowMs), unknown };
  const run = { plan, ran: { capture, reading }, completedAtMs, recovered };
  const documents = intentDocuments(run, textsIn(folder, plan.intentSha256), {
    stdout: stdout.bytes,
    stderr: stderr.bytes,
  });
  if (!areSound(documents, CONTRACTS)) throw new Fault('odd_journal', ODD);
  removeUnfinished(folder, INTENT_STEP_FOLDER);
  // Files that the result does not list are not shown.
  if (!isRejected) rmSync(path.join(folder, 'output'), { recursive: true, force: true });
  await finish(folder, {
    runId: plan.request.run_id,
    kind: 'intent',
    documents,
    stored: storedFiles([]),
    passing: PASSING,
    sealedAtMs: nowMs,
    ...sealing,
  });
  return true;
}

const CONTRACTS: ReadonlyMap<string, Contract> = new Map([
  ['run.json', runResult],
  ['evidence/request.json', intentRequest],
  ['evidence/runner.json', runner],
  ['evidence/outcome.json', intentOutcome],
]);

/** What was written before the first command was started. */
function textsIn(folder: string, sha256: string): IntentTexts {
  const text = readRegular(path.join(folder, 'intent.json'), intent.bytesMax);
  const plan = documentIn(folder, 'bundle.json', bundle) as Bundle | undefined;
  if (!text || bytesHash(text) !== sha256 || !plan) throw new Fault('odd_journal', ODD);
  return {
    intent: text,
    bundle: plan,
    recording: readRegular(path.join(folder, 'model_io.json'), modelIo.bytesMax) ?? null,
  };
}

const ODD = 'The journal of the run does not say what that of a run does.';

/**
 * A run that was not judged, or was judged good: a journal is no seal, so neither is accepted. The code of a command that
 * failed is known; that of the whole run is not.
 */
function unsealed({ ending }: CaptureNote, because: Because, judged: IntentReading | undefined): IntentReading {
  return {
    exitCode: ending.how === 'lost' ? null : exitOf(ending).code || null,
    outputs: [],
    refused: because.reason,
    missing: judged?.missing ?? [],
    checks: judged?.checks ?? [],
    reasons: [because.message],
    remarks: [{ level: 'error', code: because.reason, detail: because.detail }],
  };
}

/** Only what a run of ours writes before it begins is taken away. */
function removeUnbegun(folder: string): void {
  const names = readdirSync(folder);
  if (!names.every(name => OURS.test(name)))
    throw new Fault('odd_folder', 'The folder of a run holds what no run leaves there. It is left as it is.');
  rmSync(folder, { recursive: true, force: true });
}

const OURS =
  /^(?:journal\.ndjson|evidence|(?:run|intent|bundle|policy|model_io)\.json(?:\.tmp)?|\.(?:intent|bundle|model_io)\.json\.[0-9a-f]{12}\.tmp)$/;

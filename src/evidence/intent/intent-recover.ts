import path from 'node:path';
import { bytesHash } from '../../base/hash.ts';
import { readRegular } from '../../base/regular.ts';
import type { Contract } from '../../contracts/contract.ts';
import { type Bundle, bundle, intent, intentOutcome, intentRequest, modelIo } from '../../contracts/intent/index.ts';
import { runResult } from '../../contracts/run-result/index.ts';
import { runner } from '../../contracts/runner/index.ts';
import { exitOf } from '../step/endings.ts';
import { INTENT_STEP_FOLDER, intentDocuments } from './intent-documents.ts';
import { readIntentFolder } from './intent-folder.ts';
import type { IntentPlan, IntentReading, IntentTexts } from './intent-run.ts';
import type { Because, Interrupted, JournaledKind, Rebuilt, RunSummary } from '../recovery/kind.ts';
import { captureLeft, oddJournal, recoveredNote } from '../recovery/recovery-parts.ts';
import { documentIn } from '../document.ts';
import type { CaptureNote } from '../step/capture-note.ts';

const CONTRACTS: ReadonlyMap<string, Contract> = new Map([
  ['run.json', runResult],
  ['evidence/request.json', intentRequest],
  ['evidence/runner.json', runner],
  ['evidence/outcome.json', intentOutcome],
]);

/** Entries that an intent run may have before its first command starts. Recovery removes a run that has only these. */
const BEFORE_START =
  /^(?:journal\.ndjson|evidence|(?:run|intent|bundle|policy|model_io)\.json(?:\.tmp)?|\.(?:intent|bundle|model_io)\.json\.[0-9a-f]{12}\.tmp)$/;

export const intentKind: JournaledKind<IntentPlan, IntentReading> = {
  name: 'intent',
  sealedAs: 'intent',
  stepFolder: INTENT_STEP_FOLDER,
  contracts: CONTRACTS,
  removable: BEFORE_START,
  rebuild,
  summarize,
};

function rebuild(left: Interrupted<IntentPlan, IntentReading>): Rebuilt {
  const { folder, plan, because } = left;
  if (!plan.going) throw oddJournal();
  const { timeout_ms: timeoutMs } = plan.going.runner.limits;
  const { capture, streams, completedAtMs } = captureLeft(left, INTENT_STEP_FOLDER, timeoutMs);
  const read = left.read?.reading;
  const isRejected = read !== undefined && read.exitCode !== 0;
  const reading = isRejected ? read : unsealed(capture, because, read);
  const recovered = recoveredNote(left, read ? [] : ['output', 'checks']);
  const run = { plan, ran: { capture, reading }, completedAtMs, recovered };
  return {
    documents: intentDocuments(run, textsIn(folder, plan.intentSha256), streams),
    // The result of an interrupted run lists no files.
    discarded: isRejected ? [] : ['output'],
  };
}

function textsIn(folder: string, sha256: string): IntentTexts {
  const text = readRegular(path.join(folder, 'intent.json'), intent.bytesMax);
  const plan = documentIn(folder, 'bundle.json', bundle) as Bundle | undefined;
  if (!text || bytesHash(text) !== sha256 || !plan) throw oddJournal();
  return {
    intent: text,
    bundle: plan,
    recording: readRegular(path.join(folder, 'model_io.json'), modelIo.bytesMax) ?? null,
  };
}

/** An unsealed run is never accepted. The exit code is known only if a command failed. */
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

function summarize(folder: string): RunSummary {
  const { request, result, outcome } = readIntentFolder(folder);
  const planned = request?.mode === 'plan-only' && result?.kernel_result_kind === 'BUNDLE' ? ', only planned' : '';
  return {
    runId: request?.run_id,
    startedAt: result?.started_at,
    status: result && (result.decision.accepted ? 'accepted' : 'rejected'),
    subject: result && `${result.intent.path}, ${result.kernel_result_kind}${planned}`,
    durationMs: result && Date.parse(result.completed_at) - Date.parse(result.started_at),
    recovered: outcome?.recovered,
  };
}

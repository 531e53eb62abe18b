import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileHash } from '../../base/file-hash.ts';
import type { Contract } from '../../contracts/contract.ts';
import { runner } from '../../contracts/runner/index.ts';
import { scriptOutcome } from '../../contracts/script-outcome/index.ts';
import { scriptRequest } from '../../contracts/script-request/index.ts';
import { scriptResult } from '../../contracts/script-result/index.ts';
import { scriptDocuments } from './script-documents.ts';
import { isTime } from '../step/endings.ts';
import type { Because, Interrupted, JournaledKind, Rebuilt, RunSummary } from '../recovery/kind.ts';
import { captureLeft, oddJournal, recoveredNote } from '../recovery/recovery-parts.ts';
import { readScriptFolder } from './script-folder.ts';
import type { CaptureNote } from '../step/capture-note.ts';
import type { ScriptPlan, ScriptReading } from './script-run.ts';

const STEP_FOLDER = 'evidence/steps/script';

const CONTRACTS: ReadonlyMap<string, Contract> = new Map([
  ['evidence/request.json', scriptRequest],
  ['evidence/runner.json', runner],
  ['evidence/outcome.json', scriptOutcome],
  ['result.json', scriptResult],
]);

export const scriptKind: JournaledKind<ScriptPlan, ScriptReading> = {
  name: 'script',
  sealedAs: 'script',
  stepFolder: STEP_FOLDER,
  contracts: CONTRACTS,
  summarize,

  rebuild(left) {
    try {
      return rebuilt(left);
    } catch (cause) {
      throw oddJournal(cause);
    }
  },
};

function rebuilt(left: Interrupted<ScriptPlan, ScriptReading>): Rebuilt {
  const { folder, plan, because } = left;
  const { capture, streams, completedAtMs } = captureLeft(left, STEP_FOLDER, plan.runner.limits.timeout_ms);
  const read = left.read?.reading;
  const judged = read && isThere(folder, read.files) ? read : undefined;
  const reading = judged ? notSucceeded(judged, plan, because) : unread(capture, plan, because);
  // Output that was not judged is removed.
  const discarded = judged ? [] : ['output'];
  const recovered = recoveredNote(left, judged ? [] : ['output']);
  return { documents: scriptDocuments({ plan, capture, reading, completedAtMs, recovered }, streams), discarded };
}

/** Whether `output/` still contains the files that were judged. A power cut can lose files that were not synced. */
function isThere(folder: string, files: ScriptReading['files']): boolean {
  const output = path.join(folder, 'output');
  const names = existsSync(output) ? readdirSync(output, { recursive: true, withFileTypes: true }) : [];
  const isWhole = ({ path: file, sha256 }: ScriptReading['files'][number]): boolean =>
    fileHash(path.join(folder, file)) === sha256;
  return names.filter(entry => entry.isFile()).length === files.length && files.every(isWhole);
}

/** An unsealed run never counts as a success. Its files are salvaged. */
function notSucceeded(judged: ScriptReading, plan: ScriptPlan, because: Because): ScriptReading {
  const { reason, message, detail } = because;
  const remarks = [...judged.remarks, { level: 'error', code: reason, detail } as const];
  if (judged.status !== 'succeeded') return { ...judged, remarks };
  return {
    ...judged,
    status: 'failed',
    reason,
    publicMessage: message,
    errorSummary: `${message} Reference: ${plan.correlationId}.`,
    salvaged: judged.files.length > 0,
    remarks,
  };
}

/** The reading of a run whose files are missing. A timeout stays a timeout. */
function unread({ ending }: CaptureNote, plan: ScriptPlan, because: Because): ScriptReading {
  const isOver = isTime(ending);
  return {
    status: isOver ? 'timed_out' : 'failed',
    claimedStatus: null,
    reason: because.reason,
    publicMessage: because.message,
    timeoutSource: isOver ? 'proctor' : null,
    salvaged: false,
    htmlOutput: '',
    errorSummary: `${because.message} Reference: ${plan.correlationId}.`,
    result: null,
    files: [],
    artifacts: { files: 0, bytes: 0, declared_missing: [], undeclared: 0, size_mismatches: 0 },
    cuts: [],
    replaced: [],
    warnings: [],
    remarks: [{ level: 'error', code: because.reason, detail: because.detail }],
  };
}

function summarize(folder: string): RunSummary {
  const { request, outcome, metadata } = readScriptFolder(folder);
  const { started_at: startedAt, ended_at: endedAt } = metadata ?? {};
  return {
    runId: request?.run_id,
    startedAt,
    status: outcome?.status,
    subject: request?.script.name,
    durationMs: startedAt && endedAt ? Date.parse(endedAt) - Date.parse(startedAt) : undefined,
    recovered: outcome?.recovered,
  };
}

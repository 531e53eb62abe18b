import { closeSync, existsSync, ftruncateSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { fileHash } from '../base/file-hash.ts';
import { linesOf } from '../base/lines.ts';
import { makeFolders, OWN_FILE } from '../base/private.ts';
import { agentOutcome, agentRequest, agentResult, runnerMetadata } from '../contracts/agent-step/index.ts';
import type { Contract } from '../contracts/contract.ts';
import { runner } from '../contracts/runner/index.ts';
import { AGENT_FILES, AGENT_STEP_FOLDER, agentDocuments } from './agent-documents.ts';
import type { AgentFiles, AgentJudgement, AgentLine, AgentPlan, Stored } from './agent-run.ts';
import { finish, type Sealing } from './finish.ts';
import { type Because, lineOf, lostCapture, PASSING, removeUnfinished } from './left.ts';
import { areSound } from './script-line.ts';
import type { CaptureNote, StreamNote } from './script-run.ts';
import { storedFiles } from './sealed-files.ts';

/** Completes the run of an agent from its journal, and from what it had said by then. */
export async function completeAgent(
  folder: string,
  journal: readonly unknown[],
  nowMs: number,
  because: Because,
  sealing: Sealing,
): Promise<void> {
  const lines = journal as readonly AgentLine[];
  const plan = lineOf(lines, 'planned')?.plan as AgentPlan;
  const captured = lineOf(lines, 'captured');
  const read = lineOf(lines, 'read');
  if (!read) cutToWholeLines(path.join(folder, AGENT_FILES.transcript));
  const files = filesIn(folder, read !== undefined);
  const capture =
    captured?.capture ??
    lostCapture(plan.startedAtMs, lineOf(lines, 'started')?.atMs, noteOf(files.stdout), noteOf(files.stderr), nowMs);
  const judgement = read?.reading ?? unread(plan, files, folder, capture, because);
  const completedAtMs = Math.max(read?.atMs ?? captured?.atMs ?? nowMs, plan.startedAtMs);
  const documents = agentDocuments({ plan, capture, judgement, completedAtMs });
  if (!areSound(documents, CONTRACTS))
    throw new Fault('odd_journal', 'The journal of the run does not say what that of a run does.');
  removeUnfinished(folder, AGENT_STEP_FOLDER);
  await finish(folder, {
    runId: plan.request.run_id,
    kind: 'agent',
    documents,
    stored: storedFiles([]),
    passing: PASSING,
    sealedAtMs: nowMs,
    ...sealing,
  });
}

const CONTRACTS: ReadonlyMap<string, Contract> = new Map([
  ['result.json', agentResult],
  ['evidence/request.json', agentRequest],
  ['evidence/runner.json', runner],
  ['evidence/outcome.json', agentOutcome],
  [`${AGENT_STEP_FOLDER}/runner_metadata.json`, runnerMetadata],
]);

/** The transcript is written line by line, and the last may be half a line. */
function cutToWholeLines(file: string): void {
  if (!existsSync(file)) return;
  const fd = openSync(file, 'r+');
  try {
    let whole = 0;
    for (const { bytes, isCut } of linesOf(fd, LINE_BYTES_MAX, 0)) {
      if (isCut || !bytes) break;
      whole += bytes.length + 1;
    }
    ftruncateSync(fd, whole);
  } finally {
    closeSync(fd);
  }
}

const LINE_BYTES_MAX = 1024 * 1024;

/** What there is of each file; one that had not been begun is empty. A diff that was not judged is none. */
function filesIn(folder: string, isJudged: boolean): AgentFiles {
  if (!isJudged) rmSync(path.join(folder, AGENT_FILES.diff), { force: true });
  const stored = (file: string): Stored => {
    const place = path.join(folder, file);
    makeFolders(path.dirname(place));
    if (!existsSync(place)) writeFileSync(place, '', { mode: OWN_FILE });
    const sha256 = fileHash(place);
    if (sha256 === undefined) throw new Fault('odd_folder', 'A file of the run cannot be read.');
    return { sha256, bytes: statSync(place).size };
  };
  const { transcript, stdout, stderr, diff } = AGENT_FILES;
  return {
    transcript: stored(transcript),
    stdout: stored(stdout),
    stderr: stored(stderr),
    diff: isJudged && existsSync(path.join(folder, diff)) ? stored(diff) : null,
  };
}

function noteOf({ sha256, bytes }: Stored): StreamNote {
  return { bytesTotal: bytes, sha256: sha256 as StreamNote['sha256'], bytesKept: bytes, masked: 0 };
}

/** A run that nobody could judge to its end. What our clocks had decided stays decided. */
function unread(
  plan: AgentPlan,
  files: AgentFiles,
  folder: string,
  { ending }: CaptureNote,
  because: Because,
): AgentJudgement {
  const isTime = ending.how === 'killed' && (ending.by === 'timeout' || ending.by === 'cpu');
  const isIdle = ending.how === 'killed' && ending.by === 'idle';
  const unknown = { turns: null, input_tokens: null, cached_input_tokens: null, output_tokens: null, cost_usd: null };
  return {
    termination: isTime ? 'killed_timeout' : isIdle ? 'killed_idle' : 'error',
    reason: isTime
      ? 'wall_clock'
      : isIdle
        ? 'stalled'
        : because.reason === 'interrupted'
          ? 'interrupted'
          : 'runner_failed',
    detail: because.message,
    apiStatus: null,
    finalText: null,
    session: null,
    model: null,
    reported: unknown,
    lines: { total: countLines(path.join(folder, AGENT_FILES.stdout)), unknown: 0, broken: 0, oversized: 0 },
    events: countLines(path.join(folder, AGENT_FILES.transcript)),
    denials: 0,
    modelAccess: { mode: plan.modelMode, requests: 0, failures: 0, recording_sha256: null, difference: null },
    policy: plan.policy,
    workspaceStatus: null,
    workspace: plan.workspace,
    files,
    warnings: [],
    remarks: [{ level: 'error', code: because.reason, detail: because.detail }],
  };
}

function countLines(file: string): number {
  const fd = openSync(file, 'r');
  try {
    let count = 0;
    for (const _ of linesOf(fd, LINE_BYTES_MAX, 0)) count++;
    return count;
  } finally {
    closeSync(fd);
  }
}

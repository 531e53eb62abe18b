import { closeSync, existsSync, fstatSync, ftruncateSync, futimesSync, openSync } from 'node:fs';
import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { instantText } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { fileHash } from '../base/file-hash.ts';
import { linesOf } from '../base/lines.ts';
import { makeFolders, OWN_FILE } from '../base/private.ts';
import {
  agentOutcome,
  agentRequest,
  agentResult,
  policySummary,
  runnerMetadata,
} from '../contracts/agent-step/index.ts';
import type { Contract } from '../contracts/contract.ts';
import { runner } from '../contracts/runner/index.ts';
import type { RecoveredNote } from '../contracts/script-outcome/shape.ts';
import { workspaceStatus } from '../contracts/workspace/index.ts';
import { AGENT_FILES, AGENT_STEP_FOLDER, agentDocuments, STEP_FILES } from './agent-documents.ts';
import type { AgentFiles, AgentJudgement, AgentLine, AgentPlan, Stored } from './agent-run.ts';
import type { Document } from './documents.ts';
import { finish, type Sealing } from './finish.ts';
import { lastSeenMs } from './last-seen.ts';
import { type Because, lineOf, lostCapture, PARTS, PASSING, removeUnfinished, unknownOf } from './left.ts';
import { areSound } from './script-line.ts';
import type { CaptureNote, StreamNote } from './script-run.ts';
import { storedFiles } from './sealed-files.ts';
import { keptTreeIn, type KeptTree } from './kept-tree.ts';

/** What is left of an agent's run that was not judged. */
export interface AgentLeft {
  readonly folder: string;
  readonly plan: AgentPlan;
  readonly isStarted: boolean;
  readonly capture: CaptureNote;
  readonly files: AgentFiles;
  /** What the launcher saved of the work tree; undefined if nothing was. */
  readonly tree: KeptTree | undefined;
  /** How many lines the transcript has. */
  readonly events: number;
  readonly because: Because;
}

/** Judges what is left. It reads the agent's stream again, which this room cannot. */
export type JudgeAgent = (left: AgentLeft) => Promise<{
  readonly judgement: AgentJudgement;
  readonly unknown: RecoveredNote['unknown'];
}>;

/** Completes the run of an agent from its journal, and from what it had said and changed by then. */
export async function completeAgent(
  folder: string,
  journal: readonly unknown[],
  nowMs: number,
  because: Because,
  sealing: Sealing,
  judge: JudgeAgent,
): Promise<void> {
  const lines = journal as readonly AgentLine[];
  const plan = lineOf(lines, 'planned')?.plan as AgentPlan;
  const started = lineOf(lines, 'started');
  const captured = lineOf(lines, 'captured');
  const read = lineOf(lines, 'read');
  const completedAtMs = lastSeenMs(folder, {
    startedAtMs: plan.startedAtMs,
    timeoutMs: plan.clocks.timeout_ms,
    files: [AGENT_FILES.transcript, AGENT_FILES.stdout, AGENT_FILES.stderr, PARTS.door],
    stated: [started?.atMs, captured?.atMs, read?.atMs],
    nowMs,
  });
  const judged = read && isThere(folder, read.reading.files) ? read.reading : undefined;
  if (!judged) cutToWholeLines(path.join(folder, AGENT_FILES.transcript));
  const streams = streamsIn(folder);
  const capture =
    captured?.capture ??
    lostCapture(plan.startedAtMs, started?.atMs, noteOf(streams.stdout), noteOf(streams.stderr), completedAtMs);
  const isStarted = started !== undefined;
  const documentsWith = async (tree: KeptTree | undefined): Promise<Document[]> => {
    const files = { ...streams, diff: judged ? judged.files.diff : diffIn(folder, tree) };
    const events = countLines(path.join(folder, AGENT_FILES.transcript));
    const left = { folder, plan, isStarted, capture, files, tree: files.diff ? tree : undefined, events, because };
    const { judgement, unknown } = judged
      ? { judgement: notCompleted(judged, because), unknown: [] }
      : await judge(left);
    const recovered = { at: instantText(nowMs), unknown: unknownOf(isStarted, captured !== undefined, unknown) };
    return agentDocuments({ plan, capture, judgement, completedAtMs, recovered });
  };
  const tree = keptTreeIn(folder);
  let documents = await documentsWith(tree);
  // What was saved is a file like any other, and may not be what the launcher wrote.
  if (tree && !areSound(documents, CONTRACTS)) documents = await documentsWith(undefined);
  if (!areSound(documents, CONTRACTS))
    throw new Fault('odd_journal', 'The journal of the run does not say what that of a run does.');
  removeUnfinished(folder, AGENT_STEP_FOLDER);
  removeUnlisted(folder, documents);
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
  [STEP_FILES.metadata, runnerMetadata],
  [STEP_FILES.policy, policySummary],
  [STEP_FILES.status, workspaceStatus],
]);

/** A journal is no seal: what was judged good before the interruption is interrupted. */
function notCompleted(judged: AgentJudgement, { reason, message, detail }: Because): AgentJudgement {
  const remarks = [...judged.remarks, { level: 'error', code: reason, detail } as const];
  if (judged.termination !== 'completed') return { ...judged, remarks };
  return { ...judged, termination: 'error', reason: reasonFor(reason), detail: message, remarks };
}

/** A reason in the words of agent steps. */
export function reasonFor(reason: string): 'interrupted' | 'runner_failed' {
  return reason === 'interrupted' ? 'interrupted' : 'runner_failed';
}

/** The transcript is written line by line, and the last may be half a line. Its time stays that of the last write. */
function cutToWholeLines(file: string): void {
  if (!existsSync(file)) return;
  const fd = openSync(file, 'r+');
  try {
    let whole = 0;
    for (const { bytes, isCut } of linesOf(fd, LINE_BYTES_MAX, 0)) {
      if (isCut || !bytes) break;
      whole += bytes.length + 1;
    }
    const { size, atimeMs, mtimeMs } = fstatSync(fd);
    if (whole === size) return;
    ftruncateSync(fd, whole);
    futimesSync(fd, atimeMs / 1_000, mtimeMs / 1_000);
  } finally {
    closeSync(fd);
  }
}

const LINE_BYTES_MAX = 1024 * 1024;

/** What there is of each stream; one that had not been begun is empty. */
function streamsIn(folder: string): Omit<AgentFiles, 'diff'> {
  const stored = (file: string): Stored => {
    const place = path.join(folder, file);
    makeFolders(path.dirname(place));
    if (!existsSync(place)) writeFileSync(place, '', { mode: OWN_FILE });
    return storedAt(place);
  };
  const { transcript, stdout, stderr } = AGENT_FILES;
  return { transcript: stored(transcript), stdout: stored(stdout), stderr: stored(stderr) };
}

function storedAt(place: string): Stored {
  const sha256 = fileHash(place);
  if (sha256 === undefined) throw new Fault('odd_folder', 'A file of the run cannot be read.');
  return { sha256, bytes: statSync(place).size };
}

/** Whether the files that were judged are still what they were. */
function isThere(folder: string, files: AgentFiles): boolean {
  return Object.entries(files).every(([name, stored]) => {
    const place = path.join(folder, AGENT_FILES[name as keyof AgentFiles]);
    return stored === null ? !existsSync(place) : fileHash(place) === (stored as Stored).sha256;
  });
}

/** Puts the diff that the launcher saved in its place. Any other diff was not finished. */
function diffIn(folder: string, tree: KeptTree | undefined): Stored | null {
  const saved = path.join(folder, PARTS.diff);
  const place = path.join(folder, AGENT_FILES.diff);
  const wanted = tree?.changes.diff.sha256;
  if (wanted !== undefined && fileHash(saved) === wanted) renameSync(saved, place);
  if (wanted !== undefined && fileHash(place) === wanted) return storedAt(place);
  rmSync(place, { force: true });
  return null;
}

/** A recovery that was interrupted itself may have written a file of the step that this one cannot. */
function removeUnlisted(folder: string, documents: readonly Document[]): void {
  const written = new Set(documents.map(([file]) => file));
  for (const file of Object.values(STEP_FILES))
    if (!written.has(file)) rmSync(path.join(folder, file), { force: true });
}

function noteOf({ sha256, bytes }: Stored): StreamNote {
  return { bytesTotal: bytes, sha256: sha256 as StreamNote['sha256'], bytesKept: bytes, masked: 0 };
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

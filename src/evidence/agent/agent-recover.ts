import { closeSync, existsSync, fstatSync, ftruncateSync, futimesSync, openSync } from 'node:fs';
import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { instantText } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { fileHash } from '../../base/file-hash.ts';
import { linesOf } from '../../base/lines.ts';
import { makeFolders, OWN_FILE } from '../../base/private.ts';
import {
  agentOutcome,
  agentRequest,
  agentResult,
  policySummary,
  runnerMetadata,
} from '../../contracts/agent-step/index.ts';
import type { Contract } from '../../contracts/contract.ts';
import { runner } from '../../contracts/runner/index.ts';
import type { RecoveredNote } from '../../contracts/script-outcome/shape.ts';
import type { SealedFile } from '../../contracts/seal/statement.ts';
import { workspaceStatus } from '../../contracts/workspace/index.ts';
import { AGENT_FILES, AGENT_STEP_FOLDER, agentDocuments, STEP_FILES } from './agent-documents.ts';
import { openAgentIn, readAgentFolder } from './agent-folder.ts';
import type { AgentFiles, AgentJudgement, AgentPlan } from './agent-run.ts';
import { checkFolder, checksLeft, isIntact } from './check-steps.ts';
import type { Stored } from '../step/capture-note.ts';
import type { Document } from '../document.ts';
import { type KeptTree, keptTreeIn } from './kept-tree.ts';
import type { Because, Interrupted, JournaledKind, Rebuilt, RunSummary } from '../recovery/kind.ts';
import { areSound, lostCapture, PARTS, recoveredNote, seenAtMs } from '../recovery/recovery-parts.ts';
import type { CaptureNote, StreamNote } from '../step/capture-note.ts';

/** An interrupted agent run that was not judged. */
export interface AgentLeft {
  readonly folder: string;
  readonly plan: AgentPlan;
  readonly isStarted: boolean;
  readonly capture: CaptureNote;
  readonly files: AgentFiles;
  /** The work tree that the launcher saved, if it saved one. */
  readonly tree: KeptTree | undefined;
  readonly events: number;
  readonly because: Because;
}

/** Judges an interrupted run. This reads the agent's stream again, which needs its adapter. */
export type JudgeAgent = (left: AgentLeft) => Promise<{
  readonly judgement: AgentJudgement;
  readonly unknown: RecoveredNote['unknown'];
}>;

const CONTRACTS: ReadonlyMap<string, Contract> = new Map([
  ['result.json', agentResult],
  ['evidence/request.json', agentRequest],
  ['evidence/runner.json', runner],
  ['evidence/outcome.json', agentOutcome],
  [STEP_FILES.metadata, runnerMetadata],
  [STEP_FILES.policy, policySummary],
  [STEP_FILES.status, workspaceStatus],
]);

export function agentKindWith(judge: JudgeAgent): JournaledKind<AgentPlan, AgentJudgement> {
  return {
    name: 'agent',
    sealedAs: 'agent',
    stepFolder: AGENT_STEP_FOLDER,
    contracts: CONTRACTS,
    rebuild: left => rebuild(left, judge),
    summarize,
  };
}

/** Rebuilds the evidence from the journal, the agent's streams and the saved work tree. */
async function rebuild(left: Interrupted<AgentPlan, AgentJudgement>, judge: JudgeAgent): Promise<Rebuilt> {
  const { folder, plan, because } = left;
  const { transcript, stdout, stderr } = AGENT_FILES;
  const completedAtMs = seenAtMs(left, plan.clocks.timeout_ms, [transcript, stdout, stderr, PARTS.door]);
  const read = left.read?.reading;
  const judged = read && isThere(folder, read) ? read : undefined;
  // The launcher does not save the commits, so this file belongs to a judgement that was lost.
  if (!judged) rmSync(path.join(folder, AGENT_FILES.commits), { force: true });
  if (!judged) cutToWholeLines(path.join(folder, transcript));
  const streams = streamsIn(folder);
  const notes = { stdout: noteOf(streams.stdout), stderr: noteOf(streams.stderr) };
  const capture = left.captured?.capture ?? lostCapture(left, completedAtMs, notes);
  const isStarted = left.started !== undefined;
  const checks = judged?.checks ?? checksLeft(folder, plan.request.run_id, plan.checks ?? [], left.notes ?? []);
  const documentsWith = async (tree: KeptTree | undefined): Promise<Document[]> => {
    const files = { ...streams, diff: judged ? judged.files.diff : diffIn(folder, tree) };
    const events = countLines(path.join(folder, transcript));
    const unjudged = { folder, plan, isStarted, capture, files, tree: files.diff ? tree : undefined, events, because };
    const { judgement: found, unknown } = judged
      ? { judgement: notCompleted(judged, because), unknown: [] }
      : await judge(unjudged);
    const judgement = { ...found, checks };
    return agentDocuments({ plan, capture, judgement, completedAtMs, recovered: recoveredNote(left, unknown) });
  };
  const tree = keptTreeIn(folder);
  let documents = await documentsWith(tree);
  // Another program may have changed the saved tree.
  if (tree && !areSound(documents, CONTRACTS)) documents = await documentsWith(undefined);
  // A check that did not end may have left some of its files.
  const torn = checks.filter(({ stored }) => stored.length === 0).map(({ result }) => checkFolder(result.name));
  return { documents, discarded: [...unlisted(documents), ...torn] };
}

/** An unsealed run never counts as completed. */
function notCompleted(judged: AgentJudgement, { reason, message, detail }: Because): AgentJudgement {
  const remarks = [...judged.remarks, { level: 'error', code: reason, detail } as const];
  if (judged.termination !== 'completed') return { ...judged, remarks };
  return { ...judged, termination: 'error', reason: recoveredReason(reason), detail: message, remarks };
}

/** Maps a recovery reason to one that agent documents allow. */
export function recoveredReason(reason: string): 'interrupted' | 'runner_failed' {
  return reason === 'interrupted' ? 'interrupted' : 'runner_failed';
}

/** Removes a torn last line. Keeps the file's modification time, which shows when the run was last alive. */
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

/** The stored streams. Creates missing files. */
function streamsIn(folder: string): Omit<AgentFiles, 'diff' | 'commits'> {
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
  if (sha256 === undefined) throw new Fault('odd_folder', 'A file in the run folder cannot be read.');
  return { sha256, bytes: statSync(place).size };
}

/** Whether the judged files are unchanged. */
function isThere(folder: string, { files, checks = [] }: AgentJudgement): boolean {
  const isNotThere = files.diff !== null || !existsSync(path.join(folder, AGENT_FILES.diff));
  const hasNoOther = files.commits !== undefined || !existsSync(path.join(folder, AGENT_FILES.commits));
  const stored = [...sealedAgentFiles(files), ...checks.flatMap(({ stored }) => stored)];
  return isNotThere && hasNoOther && isIntact(folder, stored);
}

/** The files of an agent run that are stored before its documents. */
export function sealedAgentFiles({ transcript, stdout, stderr, diff, commits }: AgentFiles): SealedFile[] {
  return [
    { path: AGENT_FILES.transcript, ...transcript },
    { path: AGENT_FILES.stdout, ...stdout },
    { path: AGENT_FILES.stderr, ...stderr },
    ...(diff ? [{ path: AGENT_FILES.diff, ...diff }] : []),
    ...(commits ? [{ path: AGENT_FILES.commits, ...commits }] : []),
  ];
}

/** Moves the diff that the launcher saved to its final path. Removes any other diff, because it is incomplete. */
function diffIn(folder: string, tree: KeptTree | undefined): Stored | null {
  const saved = path.join(folder, PARTS.diff);
  const place = path.join(folder, AGENT_FILES.diff);
  const wanted = tree?.changes.diff.sha256;
  if (wanted !== undefined && fileHash(saved) === wanted) renameSync(saved, place);
  if (wanted !== undefined && fileHash(place) === wanted) return storedAt(place);
  rmSync(place, { force: true });
  return null;
}

/** Step documents that only an earlier, interrupted recovery wrote. */
function unlisted(documents: readonly Document[]): string[] {
  const written = new Set(documents.map(([file]) => file));
  return Object.values(STEP_FILES).filter(file => !written.has(file));
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

function summarize(folder: string): RunSummary {
  const { request, outcome, metadata } = readAgentFolder(folder);
  const plan = outcome ? undefined : openAgentIn(folder);
  const family = outcome?.agent.family ?? plan?.agent.family;
  const task = request?.rendered_task_text ?? plan?.asked.rendered_task_text;
  const { started_at: startedAt, ended_at: endedAt } = metadata ?? {};
  return {
    runId: outcome?.run_id,
    startedAt: startedAt ?? (plan && instantText(plan.startedAtMs)),
    status: outcome?.termination,
    subject: family && `${family.replace(/_cli$/, '')}: ${firstWords(task ?? '')}`,
    durationMs: outcome && startedAt && endedAt ? Date.parse(endedAt) - Date.parse(startedAt) : undefined,
    recovered: outcome?.recovered,
    attempt: request?.attempt ?? plan?.asked.attempt,
  };
}

/** The start of a task, for one line of a list. */
function firstWords(task: string): string {
  const [line = ''] = task.trim().split('\n', 1);
  return line.length > WORDS_UNITS_MAX ? `${line.slice(0, WORDS_UNITS_MAX).trimEnd()}…` : line;
}

const WORDS_UNITS_MAX = 60;

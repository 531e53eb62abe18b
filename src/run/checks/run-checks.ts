import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { instantText } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { bytesHash } from '../../base/hash.ts';
import { makeFolders, OWN_FILE } from '../../base/private.ts';
import type { MountNote } from '../../contracts/agent-step/mounts.ts';
import type { CheckResult } from '../../contracts/check-result/index.ts';
import type { SealedFile } from '../../contracts/seal/statement.ts';
import {
  CHECK_FILES,
  checkFolder,
  type CheckNote,
  checkStep,
  checkWithoutEnd,
  type PlannedCheck,
} from '../../evidence/agent/check-steps.ts';
import { streamOf } from '../../evidence/step/record.ts';
import { storedStream } from '../../evidence/step/stored-stream.ts';
import { makeStage, removeStage } from '../../execute/host/workspace.ts';
import { COPIED_BYTES_MAX, diffOfFiles, TREE_TOO_LARGE } from '../../execute/worktree/check-tree.ts';
import { pathText } from '../../execute/worktree/tree.ts';
import { CHECK_STREAM_BYTES, type CheckPlace, layTree, type CheckLook, runLook } from './look.ts';
import type { ReadyCheck } from './order.ts';
import { mountsNow } from './mounts-now.ts';
import type { FoundChanges, RestoredFile } from './restore.ts';

export interface ChecksPlace extends CheckPlace {
  /** What the mounts contained before the agent started. */
  readonly mountNotes: readonly MountNote[];
  /** The run folder. */
  readonly folder: string;
  /** Records a check that has ended, before the next one starts. */
  readonly note: (note: CheckNote) => void;
  /** Why no check can run, as a reason and a sentence; undefined if they can. */
  readonly obstacle: Pick<CheckResult, 'reason' | 'message'> | undefined;
}

/** Runs each check in a new sandbox on its own copy of the tree, one after the other. */
export async function runChecks(checks: readonly ReadyCheck[], place: ChecksPlace): Promise<CheckNote[]> {
  const notes: CheckNote[] = [];
  for (const check of checks) {
    const note = await noteOf(check, place);
    place.note(note);
    notes.push(note);
  }
  return notes;
}

/** What is known about a check before it runs. */
export function plannedCheck(
  { name, command, effective, overlay, paths, report, keep }: ReadyCheck,
  mask: (text: string) => string,
): PlannedCheck {
  const { timeoutMs, memoryBytes, pids, isolation } = effective;
  return {
    name,
    command: mask(command),
    limits: {
      timeout_ms: timeoutMs,
      memory_bytes: memoryBytes ?? null,
      pids: pids ?? null,
      output_bytes: 2 * CHECK_STREAM_BYTES,
      work_bytes: COPIED_BYTES_MAX,
    },
    sandbox: {
      backend: 'process',
      isolation_level: isolation === 'strict' ? 'strict' : 'standard',
      network_blocked: true,
    },
    overlay: overlay ? { sha256: overlay.sha256, files: overlay.files.size } : null,
    paths: paths ? [...paths] : null,
    report: report === undefined ? null : { path: report, format: null },
    ...(keep && { keep: [...keep] }),
  };
}

async function noteOf(check: ReadyCheck, place: ChecksPlace): Promise<CheckNote> {
  const { runId, signal, obstacle } = place;
  const unran = (reason: string, message: string): CheckNote => ({
    result: checkWithoutEnd(runId, plannedCheck(check, place.mask), { verdict: 'did_not_run', reason, message }),
    stored: [],
  });
  if (obstacle) return unran(obstacle.reason, obstacle.message);
  if (signal?.aborted) return unran('cancelled', 'The run was cancelled before this check started.');
  try {
    return await ranCheck(check, place);
  } catch (error) {
    // The agent's sandbox is lost too, so the run cannot continue.
    if (!(error instanceof Fault) || error.code === 'launcher_lost') throw error;
    if (error.code === TREE_TOO_LARGE) return unran(error.code, error.message);
    return unran(error.code, `Proctor could not run this check. The agent did not cause this. ${error.message}`);
  }
}

async function ranCheck(check: ReadyCheck, place: ChecksPlace): Promise<CheckNote> {
  const id = `${place.runId}-${checkStep(check.name)}`;
  const stored: SealedFile[] = [];
  const folder = path.join(place.folder, checkFolder(check.name));
  makeFolders(folder);
  const stage = makeStage(id);
  try {
    const mounts = await mountsNow(place);
    const changes = await layTree(check, place, stage, false, async ({ restored }, top) => {
      const diff = await storedDiff(restored, top, place, folder);
      if (diff) stored.push({ path: `${checkFolder(check.name)}/${CHECK_FILES.restored[0]}`, ...diff });
    });
    const first = await runLook(check, place, stage, id);
    stored.push(...storedOutput(check, first, place));
    const isPassed = first.verdict.verdict === 'passed' && check.paths !== undefined;
    const second = isPassed ? await secondLook(check, place, `${id}-again`) : undefined;
    const result = resultOf(check, place, first, second, changes);
    return { result: { ...result, ...(mounts.length > 0 && { mounts }) }, stored };
  } finally {
    removeStage(stage);
  }
}

async function secondLook(check: ReadyCheck, place: CheckPlace, id: string): Promise<CheckLook> {
  const stage = makeStage(id);
  try {
    await layTree(check, place, stage, true);
    return await runLook(check, place, stage, id);
  } finally {
    removeStage(stage);
  }
}

/** Keeps what the agent did to the files that Proctor puts back. */
async function storedDiff(
  files: readonly RestoredFile[],
  top: string,
  { clone, mask }: CheckPlace,
  folder: string,
): Promise<{ readonly sha256: string; readonly bytes: number } | undefined> {
  if (files.length === 0) return undefined;
  const put = files.flatMap(({ entries }) => entries);
  const deleted = files
    .filter(({ change, because }) => change === 'deleted' && because !== 'dependency')
    .map(({ path: at }) => at);
  const out = path.join(folder, CHECK_FILES.restored[0]);
  const diff = await diffOfFiles(clone, top, { put, deleted }, out);
  const text = readFileSync(out, 'utf8');
  const masked = mask(text);
  if (masked === text) return diff;
  writeFileSync(out, masked);
  return { sha256: bytesHash(Buffer.from(masked)), bytes: Buffer.byteLength(masked) };
}

function storedOutput(check: ReadyCheck, { capture, report }: CheckLook, place: ChecksPlace): SealedFile[] {
  const store = (name: 'stdout' | 'stderr' | 'report', bytes: Uint8Array): SealedFile => {
    const at = `${checkFolder(check.name)}/${CHECK_FILES[name][0]}`;
    writeFileSync(path.join(place.folder, at), bytes, { mode: OWN_FILE, flag: 'wx' });
    return { path: at, sha256: bytesHash(bytes), bytes: bytes.length };
  };
  return [
    store('stdout', storedStream(capture.stdout).bytes),
    store('stderr', storedStream(capture.stderr).bytes),
    ...(report ? [store('report', Buffer.from(place.mask(report.bytes.toString())))] : []),
  ];
}

function resultOf(
  check: ReadyCheck,
  place: ChecksPlace,
  first: CheckLook,
  second: CheckLook | undefined,
  { restored, kept }: FoundChanges,
): CheckResult {
  const { runId, mask } = place;
  const { capture, report, startedAtMs, endedAtMs } = first;
  const planned = plannedCheck(check, mask);
  const { ending } = capture;
  const streams = (['stdout', 'stderr'] as const).map(name => streamOf(name, storedStream(capture[name]).note));
  return {
    ...checkWithoutEnd(runId, planned, verdictWith(first, second)),
    decided_by: report?.tests ? 'report' : 'exit_code',
    started_at: instantText(startedAtMs),
    ended_at: instantText(endedAtMs),
    duration_ms: endedAtMs - startedAtMs,
    ending,
    exit_code: codeOf(ending),
    streams,
    report: planned.report && { ...planned.report, format: report?.format ?? null },
    tests: report?.tests ?? null,
    restored: listedFiles(restored, mask),
    ...(check.keep && { kept: listedFiles(kept, mask) }),
    second_look: second
      ? { ...second.verdict, exit_code: codeOf(second.capture.ending), tests: second.report?.tests ?? null }
      : null,
  };
}

function listedFiles(files: readonly RestoredFile[], mask: (text: string) => string): CheckResult['restored'] {
  const listed = files.slice(0, LISTED_MAX).map(({ path: at, change, because }) => ({
    path: mask(pathText(at).path),
    change,
    because,
  }));
  return { total: files.length, listed };
}

const LISTED_MAX = 1_000;

function codeOf(ending: CheckLook['capture']['ending']): number | null {
  return 'code' in ending ? ending.code : null;
}

/** A check that passes only with the agent's other changes counts as failed, unless the second look could not run. */
function verdictWith(first: CheckLook, second: CheckLook | undefined): CheckLook['verdict'] {
  if (!second || second.verdict.verdict === 'passed') return first.verdict;
  const { verdict, reason, message } = second.verdict;
  if (reason === 'cancelled') return second.verdict;
  return {
    verdict: verdict === 'unknown' ? 'unknown' : 'failed',
    reason: 'second_look_differs',
    message: `The check passes with everything that the agent left, but not with its changes to the declared paths alone. ${message}`,
  };
}

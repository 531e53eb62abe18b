import path from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import type { Capture } from '../../contracts/capture.ts';
import { PATH_FOLDERS } from '../../execute/host/programs.ts';
import type { Job, Mount } from '../../execute/job/job.ts';
import type { Launcher } from '../../execute/launcher/launch.ts';
import { sweep } from '../../execute/launcher/sweep.ts';
import { reachable } from '../../execute/sandboxes/mounts.ts';
import { HOME } from '../../execute/sandboxes/root.ts';
import {
  checkOutBase,
  COPIED_BYTES_MAX,
  copyTree,
  makeTreeFolder,
  putFile,
  removeAt,
} from '../../execute/worktree/check-tree.ts';
import type { Clone } from '../../execute/worktree/clone.ts';
import { layPrepared } from '../../execute/worktree/prepared.ts';
import { limitsOf, LOCALE } from '../pipeline/runner-plan.ts';
import { runToEnd } from '../pipeline/steps.ts';
import type { ReadyCheck } from './order.ts';
import { isLeftOut } from './left-out.ts';
import { bytePath, findChanged, type FoundChanges, putBackFiles } from './restore.ts';
import { type ReadReport, readReport } from './test-report.ts';
import { type CheckVerdict, checkVerdictOf } from './verdict.ts';

/** Where checks run: the tree that the agent left, and what they may not reveal. */
export interface CheckPlace {
  readonly runId: string;
  readonly launcher: Launcher;
  readonly clone: Clone;
  /** The tree that the agent left. All its processes have ended. */
  readonly workTree: string;
  /** The agent's read-only folders, with their original sources. */
  readonly mounts: readonly Mount[];
  readonly secrets: readonly string[];
  readonly mask: (text: string) => string;
  readonly signal: AbortSignal | undefined;
}

/** What one execution of a check showed. */
export interface CheckLook {
  readonly capture: Capture;
  readonly report: ReadReport | undefined;
  readonly verdict: CheckVerdict;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
}

/**
 * Lays out the tree of a check: a copy of what the agent left, or for a second look the base commit with only the
 * agent's changes below the declared paths. Returns what the agent changed; `before` sees it before it is put back.
 */
export async function layTree(
  check: ReadyCheck,
  { clone, workTree, mounts }: CheckPlace,
  stage: string,
  isSecond: boolean,
  before?: (changes: FoundChanges, top: string) => Promise<void>,
): Promise<FoundChanges> {
  const top = path.join(stage, 'roots');
  const leaveOut = isLeftOut(clone);
  const below = (at: string): string => bytePath(path.posix.join(clone.startIn, at));
  if (isSecond) {
    await checkOutBase(clone, top);
    const prepared = clone.prepared?.from;
    if (prepared) await layPrepared(prepared, top, entry => clone.prepared?.files.has(entry.path) === true);
    for (const at of check.paths ?? []) {
      const place = below(at);
      if (place !== '.') removeAt(top, place);
      await copyTree(workTree, top, place === '.' ? '' : place, leaveOut);
    }
  } else await copyTree(workTree, top, '', leaveOut);
  for (const { target } of mounts) emptyMountPoint(top, target);
  const tree = { clone, top, scratch: path.join(stage, 'base') };
  const changes = await findChanged(check, tree);
  await before?.(changes, top);
  await putBackFiles(changes.restored, tree);
  if (isSecond) for (const at of changes.newTests) removeAt(top, at);
  makeTreeFolder(top, bytePath(clone.startIn));
  for (const [at, { bytes, isExecutable }] of check.overlay?.files ?? [])
    putFile(top, below(at), [bytes], isExecutable);
  if (check.report !== undefined) removeAt(top, below(check.report));
  return changes;
}

/** Removes files that the agent left at the path of a mount, so that a link cannot redirect the mount. */
function emptyMountPoint(top: string, target: string): void {
  if (!target.startsWith('/work/')) return;
  const at = bytePath(target.slice('/work/'.length));
  makeTreeFolder(top, path.posix.dirname(at));
  removeAt(top, at);
  makeTreeFolder(top, at);
}

/** Runs the command in a new sandbox, and reads its report after all its processes have ended. */
export async function runLook(check: ReadyCheck, place: CheckPlace, stage: string, id: string): Promise<CheckLook> {
  const { launcher, clone, signal } = place;
  const mounts = await reachable(place.mounts, stage);
  const prepared = await launcher.open({ ...checkJob(check, place, stage, id), ...(mounts.length > 0 && { mounts }) });
  try {
    const startedAtMs = systemClock.now();
    const capture = await runToEnd({ prepared, context: signal ? { signal } : {} });
    const endedAtMs = Math.max(systemClock.now(), startedAtMs);
    const top = path.join(prepared.workFolder, 'output');
    const { report: declared } = check;
    const report =
      declared === undefined ? undefined : readReport(top, path.posix.join(clone.startIn, declared), place.mask);
    const told = { isDeclared: declared !== undefined, isFound: report !== undefined, tests: report?.tests ?? null };
    if ((capture.survivors ?? 0) > 0)
      throw new Fault('check_survived', 'A process of the check could not be killed, so its result does not count.');
    return { capture, report, verdict: checkVerdictOf(capture.ending, told), startedAtMs, endedAtMs };
  } finally {
    await prepared.close().catch(() => sweep(prepared.leftovers));
  }
}

/** The tools are the machine's own. Nothing of the agent's home or its programs is visible. */
function checkJob(check: ReadyCheck, { clone, secrets }: CheckPlace, stage: string, id: string): Job {
  return {
    id,
    backend: 'process',
    argv: ['/bin/sh', '-c', check.command],
    env: { PATH: PATH_FOLDERS.join(':'), HOME, TMPDIR: '/tmp', LANG: LOCALE, TZ: 'UTC', CI: 'true' },
    stage,
    staged: [],
    writeRoots: ['.'],
    startIn: clone.startIn,
    home: true,
    network: 'blocked',
    limits: { ...limitsOf(check.effective, CHECK_CAPS), workBytes: COPIED_BYTES_MAX, workEntries: WORK_ENTRIES },
    secrets,
    live: false,
  };
}

/** How much of each stream is kept. */
export const CHECK_STREAM_BYTES = 512 * 1024;
const CHECK_CAPS = {
  stdoutBytes: CHECK_STREAM_BYTES,
  stderrBytes: CHECK_STREAM_BYTES,
  htmlBytes: 0,
  summaryBytes: 1_000,
};
const WORK_ENTRIES = 500_000;

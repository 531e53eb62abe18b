/**
 * The launcher: a small process that starts all programs. Fork time grows with the parent's memory, so Proctor itself
 * does not fork. When Proctor dies, the launcher kills everything it started, saves the agent's work tree and exits.
 */
import { renameSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { systemClock } from '../../base/clock.ts';
import { causeText, Fault } from '../../base/fault.ts';
import { findCgroups } from '../cgroups/cgroups.ts';
import { builtProgram } from '../host/package-files.ts';
import { closeInherited } from '../job/inherited.ts';
import type { SandboxInstance } from '../job/sandbox-instance.ts';
import type { Job } from '../job/job.ts';
import type { keepTree as keep } from '../worktree/keep-tree.ts';
import { lookAt } from '../host/machine.ts';
import type { LauncherReply, LauncherRequest } from './messages.ts';
import { none } from '../sandboxes/none.ts';
import { processSandbox } from '../sandboxes/process.ts';
import { hasSystemCallFilter } from '../sandboxes/seccomp.ts';
import { type Show, supervise, type Watched } from './supervise.ts';
import { removeStage, stagePath } from '../host/workspace.ts';

interface Run {
  readonly job: Job;
  readonly openedAtMs: number;
  readonly cell: SandboxInstance;
  watched?: Watched;
  /** Lets the live stream continue. */
  taken?: () => void;
}

closeInherited();

const runs = new Map<number, Promise<Run>>();
/** After a second run a third is likely, so the launcher prepares its sandbox in advance. */
let hasSeries = false;
/** Whether a run has a work tree to save. */
let hasTree = false;
const cgroups = findCgroups();
const bound = cgroups.then(processSandbox);

const say = (answer: LauncherReply): void => {
  // Proctor may be gone. Then the message is not needed.
  process.send?.(answer, undefined, undefined, () => undefined);
};

async function answer(message: LauncherRequest): Promise<void> {
  const { no } = message;
  if (message.ask === 'machine') {
    say({ say: 'machine', no, machine: lookAt(await cgroups, hasSystemCallFilter()) });
    return;
  }
  if (message.ask === 'open') {
    const opening = open(message.job);
    hasSeries ||= runs.size > 0 || no > 2;
    hasTree ||= message.job.keepTree !== undefined;
    runs.set(no, opening);
    // A run that failed to open is never closed.
    opening.catch(() => runs.delete(no));
    const { leftovers, workFolder, homeFolder } = (await opening).cell;
    say({ say: 'opened', no, leftovers, workFolder, homeFolder });
    return;
  }
  const run = await runs.get(no);
  if (!run) return;
  if (message.ask === 'start') {
    const show: Show = (stream, bytes) =>
      new Promise(resolve => {
        run.taken = resolve;
        say({ say: 'piece', no, stream, bytes });
      });
    run.watched = supervise(run.cell, run.job, run.openedAtMs, run.job.live ? oneByOne(show) : undefined);
    say({ say: 'captured', no, capture: await run.watched.captured });
  } else if (message.ask === 'stop') {
    run.watched?.stop(message.by);
  } else if (message.ask === 'more') {
    run.taken?.();
  } else {
    await close(no);
    say({ say: 'closed', no });
    // Delayed, because Proctor is still writing the run's evidence and needs the CPU.
    if (hasSeries) setTimeout(() => void warm(), REST_MS).unref();
  }
}

async function open(job: Job): Promise<Run> {
  const openedAtMs = systemClock.now();
  if ([job.argv, ...(job.then ?? []), ...Object.entries(job.env)].flat().some(word => word.includes('\0'))) {
    throw new Fault('zero_byte', 'An argument or variable contains a zero byte, which no program can receive.');
  }
  const sandbox = job.backend === 'none' ? none : await bound;
  const opening = sandbox.open(job);
  try {
    return { job, openedAtMs, cell: await Promise.race([opening, tooLong()]) };
  } catch (error) {
    // Closes the sandbox if it opens after all.
    void opening.then(cell => cell.close()).catch(() => undefined);
    throw error;
  }
}

async function tooLong(): Promise<never> {
  await wait(OPEN_MS_MAX, undefined, { ref: false });
  throw new Fault('sandbox_unavailable', 'The sandbox did not start within 60 seconds.');
}

const OPEN_MS_MAX = 60_000;

async function close(no: number, isOrphan = false): Promise<void> {
  const run = await runs.get(no)?.catch(() => undefined);
  runs.delete(no);
  if (!run) return;
  run.cell.kill();
  const stage = isOrphan && run.job.keepTree ? renamed(run.job) : run.job.stage;
  await run.cell.close(isOrphan ? () => saveTree(run, stage) : undefined);
  removeStage(stage);
}

/** Renames a stage after the launcher, so that a cleanup does not treat it as abandoned. */
function renamed({ id, stage }: Job): string {
  const own = stagePath(id);
  try {
    renameSync(stage, own);
    return own;
  } catch {
    return stage;
  }
}

/** Saves the agent's work tree after Proctor has died. If this fails, recovery reports the changes as unknown. */
async function saveTree({ job, cell }: Run, stage: string): Promise<void> {
  if (!job.keepTree) return;
  try {
    const { keepTree } = (await import(pathToFileURL(builtProgram('keep-tree.js')).href)) as Keeper;
    await keepTree(job.keepTree, job.secrets, stage, cell.workFolder);
  } catch {
    // The disk is full, or the tree is unreadable.
  }
}

interface Keeper {
  readonly keepTree: typeof keep;
}

/** Sends the pieces of both streams one after another, because `more` acknowledges only one piece. */
function oneByOne(show: Show): Show {
  let last = Promise.resolve();
  return (stream, bytes) => {
    last = last.then(() => show(stream, bytes));
    return last;
  };
}

process.on('message', (message: LauncherRequest) => {
  answer(message).catch((error: unknown) => {
    const {
      code,
      message: sentence,
      cause,
    } = error instanceof Fault
      ? error
      : new Fault('launcher_failed', 'The run could not be started.', { cause: error });
    say({ say: 'fault', no: message.no, code, message: sentence, cause: causeText(cause) });
  });
});

// Proctor has exited or died, so nothing needs to run any longer.
function end(): void {
  const closing = [...runs.keys()].map(async no => {
    runs.get(no)?.then(
      run => run.taken?.(),
      () => undefined,
    );
    await close(no, true);
  });
  void Promise.allSettled(closing).then(async () => (await bound).close());
  // If something still keeps this process alive, everything it started dies with it.
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), hasTree ? SAVE_MS : END_MS).unref();
}

const END_MS = 10_000;
/** Long enough to examine the largest work tree on a slow machine. */
const SAVE_MS = 60_000;
const REST_MS = 30;

process.on('disconnect', end);

// Proctor handles terminal signals and tells the launcher to stop.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined);

// Proctor may have exited while this file was loading. Then there is no further event.
if (process.connected) void warm();
else end();

async function warm(): Promise<void> {
  const sandbox = await bound;
  if (process.connected) sandbox.warm();
}

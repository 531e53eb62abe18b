/**
 * The launcher: a small process that starts all programs, so that the one that holds the data does not have to. Forking
 * takes time in proportion to the memory of who forks. It also outlives its owner by just as long as it takes to end
 * everything that it started, and to save what an agent did to its work tree.
 */
import { renameSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { systemClock } from '../base/clock.ts';
import { causeText, Fault } from '../base/fault.ts';
import { findCgroups } from './cgroup.ts';
import { builtBeside } from './beside.ts';
import { closeInherited } from './inherited.ts';
import type { Cell } from './cell.ts';
import type { Job } from './job.ts';
import type { keepTree as keep } from './keep-tree.ts';
import { lookAt } from './machine.ts';
import type { Answer, Ask } from './messages.ts';
import { none } from './sandboxes/none.ts';
import { processSandbox } from './sandboxes/process.ts';
import { hasSystemCallFilter } from './sandboxes/seccomp.ts';
import { type Show, supervise, type Watched } from './supervise.ts';
import { removeStage, stagePath } from './workspace.ts';

interface Run {
  readonly job: Job;
  readonly openedAtMs: number;
  readonly cell: Cell;
  watched?: Watched;
  /** Lets the live stream go on. */
  taken?: () => void;
}

closeInherited();

const runs = new Map<number, Promise<Run>>();
/** From the second run on there is likely to be a third, and its sandbox is made while nobody waits for one. */
let hasSeries = false;
/** Some run has a work tree to be saved. */
let hasTree = false;
const cgroups = findCgroups();
const bound = cgroups.then(processSandbox);

const say = (answer: Answer): void => {
  // A piece that nobody waits for any more is no loss.
  process.send?.(answer, undefined, undefined, () => undefined);
};

async function answer(message: Ask): Promise<void> {
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
    // Nobody closes what was never opened.
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
    // Not at once: the run is still being written down, and needs the machine more.
    if (hasSeries) setTimeout(() => void warm(), REST_MS).unref();
  }
}

async function open(job: Job): Promise<Run> {
  const openedAtMs = systemClock.now();
  if ([job.argv, ...(job.then ?? []), ...Object.entries(job.env)].flat().some(word => word.includes('\0'))) {
    throw new Fault('zero_byte', 'An argument or a variable holds a zero byte, which no program can be given.');
  }
  const sandbox = job.backend === 'none' ? none : await bound;
  const opening = sandbox.open(job);
  try {
    return { job, openedAtMs, cell: await Promise.race([opening, tooLong()]) };
  } catch (error) {
    // Should it come after all, nobody is there to use it.
    void opening.then(cell => cell.close()).catch(() => undefined);
    throw error;
  }
}

/** A sandbox that is not there by now will not come. */
async function tooLong(): Promise<never> {
  await wait(OPEN_MS_MAX, undefined, { ref: false });
  throw new Fault('sandbox_unavailable', 'The sandbox took too long to start.');
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

/** Gives a stage the launcher's own name, so that a cleanup does not take it for abandoned. */
function renamed({ id, stage }: Job): string {
  const own = stagePath(id);
  try {
    renameSync(stage, own);
    return own;
  } catch {
    return stage;
  }
}

/** Saves the work tree of an agent whose owner died. Where that fails, a recovery says that it is unknown. */
async function saveTree({ job, cell }: Run, stage: string): Promise<void> {
  if (!job.keepTree) return;
  try {
    const { keepTree } = (await import(pathToFileURL(builtBeside('keep-tree.js')).href)) as Keeper;
    await keepTree(job.keepTree, job.secrets, stage, cell.workFolder);
  } catch {
    // A full disk, or a tree that cannot be read.
  }
}

interface Keeper {
  readonly keepTree: typeof keep;
}

/** Pieces of both streams go one after the other, since only one can be waited for. */
function oneByOne(show: Show): Show {
  let last = Promise.resolve();
  return (stream, bytes) => {
    last = last.then(() => show(stream, bytes));
    return last;
  };
}

process.on('message', (message: Ask) => {
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

// The owner is gone, by its own will or not: whatever still runs has nobody to run for.
function end(): void {
  const closing = [...runs.keys()].map(async no => {
    runs.get(no)?.then(
      run => run.taken?.(),
      () => undefined,
    );
    await close(no, true);
  });
  void Promise.allSettled(closing).then(async () => (await bound).close());
  // Everything that we started dies with us, should anything still keep us.
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), hasTree ? SAVE_MS : END_MS).unref();
}

const END_MS = 10_000;
/** Long enough to examine the largest work tree on a slow machine. */
const SAVE_MS = 60_000;
const REST_MS = 30;

process.on('disconnect', end);

// Signals from a terminal are for the owner, who will tell us.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined);

// It may have gone while this file was being loaded, and nobody will say so again.
if (process.connected) void warm();
else end();

async function warm(): Promise<void> {
  const sandbox = await bound;
  if (process.connected) sandbox.warm();
}

import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { causeText, Fault } from '../../base/fault.ts';
import { OWN_FOLDER } from '../../base/private.ts';
import { finish, sealingOf } from '../../evidence/run-folder/finish.ts';
import { Journal } from '../../evidence/run-folder/journal.ts';
import type { JournaledKind, JournaledPlan, JournalLine } from '../../evidence/recovery/kind.ts';
import { PASSING } from '../../evidence/recovery/recovery-parts.ts';
import { recoverRun } from '../../evidence/recovery/recover.ts';
import { makeRunFolder, type RunFolder } from '../../evidence/run-folder/runs.ts';
import { storedFiles } from '../../evidence/run-folder/sealed-files.ts';
import { removeAfter } from '../../execute/launcher/abandoned.ts';
import { type Observation, observe } from '../../execute/launcher/canary.ts';
import type { SandboxHandle } from '../../execute/launcher/launch.ts';
import type { Machine } from '../../execute/host/machine.ts';
import { takeSlot } from '../../execute/host/slots.ts';
import { sweep } from '../../execute/launcher/sweep.ts';
import { makeStage, removeStage } from '../../execute/host/workspace.ts';
import type { JournaledRun, RunContext, SealedRun, StartedRun, StepTypes } from './journaled-run.ts';
import { OutputObserver } from './steps.ts';

/**
 * Takes a run from its slot to its seal: prepare a stage, open a sandbox, begin the journal, run the program, judge
 * what it left, seal the evidence, clean up. A kind supplies the steps, and the pipeline decides their order. The
 * journal gets a line before each step that recovery must know about. So recovery can complete the folder of a run that
 * fails or dies.
 *
 * `check` compares the run with this machine before the run takes a slot.
 */
export async function runJournaled<Types extends StepTypes>(
  context: RunContext,
  check: (machine: Machine) => JournaledRun<Types> | Promise<JournaledRun<Types>>,
): Promise<SealedRun<Types>> {
  const { launcher } = context;
  try {
    return await runInSlot(context, await check(await launcher.machine()));
  } finally {
    // A dead launcher leaves files that can be identified only by its pid.
    if (launcher.isLost()) await removeAfter(launcher.pid);
  }
}

async function runInSlot<Types extends StepTypes>(
  context: RunContext,
  run: JournaledRun<Types>,
): Promise<SealedRun<Types>> {
  const { launcher, home } = context;
  const free = await takeSlot(context);
  let stage: string | undefined;
  try {
    stage = makeStage(run.id);
    const made = await run.prepare(stage, path.join(home, 'runs', run.kind.name, run.id));
    const observed = made.job.backend === 'none' ? [] : await observe(launcher, made.job, path.join(home, 'cache'));
    const prepared = await launcher.open(made.job);
    const plan = await planned(run, made, observed, prepared);
    const onlooker = new OutputObserver(context.onOutput);
    const sealed = await withJournal(run.kind, plan, prepared, context, (place, journal) =>
      runAndSeal(run, { place, prepared, plan, made, context, note: noting(journal) }, journal, onlooker.notify),
    );
    if (sealed.judged.fault) throw sealed.judged.fault;
    if (onlooker.failure) throw onlooker.failure.error;
    return sealed;
  } finally {
    await run.release?.();
    free();
    if (stage !== undefined) removeStage(stage);
  }
}

/** Closes the sandbox if the plan fails, because no journal refers to it yet. */
async function planned<Types extends StepTypes>(
  run: JournaledRun<Types>,
  made: Types['made'],
  observed: readonly Observation[],
  prepared: SandboxHandle,
): Promise<Types['plan']> {
  try {
    return run.plan(made, observed);
  } catch (error) {
    await closeAndSweep(prepared);
    throw error;
  }
}

async function closeAndSweep(prepared: SandboxHandle): Promise<void> {
  await prepared.close().catch(() => undefined);
  await sweep(prepared.leftovers);
}

async function runAndSeal<Types extends StepTypes>(
  run: JournaledRun<Types>,
  started: StartedRun<Types>,
  journal: Journal<JournalLine>,
  show: RunContext['onOutput'],
): Promise<SealedRun<Types>> {
  const { place, prepared, plan, context } = started;
  run.begin?.(started);
  journal.append({ is: 'started', atMs: systemClock.now() });
  const seen = await run.watch(started, show);
  journal.append({ is: 'captured', atMs: systemClock.now(), capture: seen.capture });
  const judged = await run.judge(started, seen);
  // The system clock may have been set back during the run.
  const completedAtMs = Math.max(systemClock.now(), plan.startedAtMs);
  journal.append({ is: 'read', atMs: completedAtMs, reading: judged.reading });
  // Close the sandbox only now: until the journal contains the reading, only the sandbox has the program's changes.
  const closed = prepared.close().catch(() => sweep(prepared.leftovers));
  const completed = { ...started, seen, judged, completedAtMs };
  const documents = run.documents(completed);
  await finish(place.folder, {
    runId: plan.request.run_id,
    kind: run.kind.sealedAs,
    documents,
    stored: storedFiles(judged.stored),
    passing: PASSING,
    sealedAtMs: completedAtMs,
    ...sealingOf(context),
  });
  await closed;
  return { ...completed, documents };
}

function noting(journal: Journal<JournalLine>): StartedRun['note'] {
  return note => journal.append({ is: 'noted', atMs: systemClock.now(), note });
}

/** Keeps a journal while `act` runs. If `act` fails, the folder is completed from the journal. */
async function withJournal<Answer>(
  kind: JournaledKind,
  plan: JournaledPlan,
  prepared: SandboxHandle,
  context: RunContext,
  act: (place: RunFolder, journal: Journal<JournalLine>) => Promise<Answer>,
): Promise<Answer> {
  let place: RunFolder | undefined;
  try {
    place = makeRunFolder(context.home, kind.name, plan.request.run_id);
    const journal = Journal.open<JournalLine>(place.folder);
    try {
      journal.append({ is: 'planned', plan });
      mkdirSync(path.join(place.folder, 'evidence'), { mode: OWN_FOLDER });
      mkdirSync(path.join(place.folder, 'evidence', 'internal'), { mode: OWN_FOLDER });
      context.onFolder?.(place);
      const answer = await act(place, journal);
      journal.remove();
      return answer;
    } catch (error) {
      journal.close();
      throw error;
    }
  } catch (error) {
    await closeAndSweep(prepared);
    const isWhole = !place || (await completeAfter(error, kind, place, context));
    throw isWhole || !(error instanceof Fault) ? error : incomplete(error);
  }
}

/** Completes a run that Proctor failed to finish, and blames Proctor, not the program. False if the run stays open. */
async function completeAfter(
  error: unknown,
  kind: JournaledKind,
  { folder }: RunFolder,
  context: RunContext,
): Promise<boolean> {
  const fault = error instanceof Fault ? error : new Fault('bug', 'Proctor hit an internal error.', { cause: error });
  try {
    // If the sandbox did not start, its output is not the program's.
    if (fault.code === 'sandbox_unavailable')
      for (const part of PASSING) rmSync(path.join(folder, part), { force: true });
    const because = {
      reason: fault.code,
      message: 'Proctor could not complete the run. The program did not cause this.',
      detail: `${fault.message} ${causeText(fault.cause)}`,
    };
    const kinds = { [kind.name]: async () => kind };
    const sealing = sealingOf(context);
    await recoverRun(folder, kinds, { nowMs: systemClock.now(), sealing, because, whose: 'made by us' });
    return true;
  } catch {
    // The journal is still there, and `proctor recover` will try again.
    return false;
  }
}

function incomplete({ code, message, cause }: Fault): Fault {
  return new Fault(code, `${message} The incomplete run is kept. Run proctor recover to complete it.`, { cause });
}

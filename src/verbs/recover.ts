import { rmSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { isStartedHere } from '../evidence/run-folder/journal.ts';
import type { JournaledPlan, Kinds } from '../evidence/recovery/kind.ts';
import {
  hasJournal,
  isSealed,
  openRun,
  recoverRun,
  removeJournal,
  removeUnwritten,
} from '../evidence/recovery/recover.ts';
import { attemptsIn, hasLedger, homeFrom, runsIn, RUN_ID, type RunFolder } from '../evidence/run-folder/runs.ts';
import { type SuiteState, suiteStateIn } from '../evidence/suite/suite-resume.ts';
import { removeAbandoned } from '../execute/launcher/abandoned.ts';
import { takeOwnLock } from '../execute/host/locks.ts';
import { bootId } from '../execute/host/machine.ts';
import { isAlive as isProcessAlive, startTicksOf } from '../execute/host/processes.ts';
import { sweepBare } from '../execute/launcher/sweep.ts';
import { KINDS } from '../run/kinds.ts';
import { signerAt } from './keys.ts';
import { completeLedger, ledgerOf } from './ledger.ts';
import { refuseUnknown } from './options.ts';

/** What happened to an unfinished run, to a run without a ledger line, or to the ledger itself. */
export interface Recovered {
  readonly id: string;
  readonly became:
    | 'recovered'
    | 'sealed'
    | 'removed'
    | 'alive'
    | 'resumable'
    | 'foreign'
    | 'odd'
    | 'entered'
    | 'repaired';
  /** Why it is unchanged. */
  readonly why?: string;
}

/**
 * Completes every dead run of this project that this user started on this machine. Repairs the ledger, and removes what
 * dead runs left on the machine. Signs completed runs with the named key, else the project's.
 */
export async function recover(cwd: string, options: { signingKey?: string } = {}): Promise<Recovered[]> {
  refuseUnknown('recover', options, { signingKey: true });
  return recoverAll(cwd, options.signingKey, KINDS);
}

export async function recoverAll(cwd: string, signingKey: string | undefined, kinds: Kinds): Promise<Recovered[]> {
  const home = homeFrom(cwd);
  const recovered: Recovered[] = [];
  for (const lies of [home, attemptsIn(home)]) {
    for (const place of runsIn(lies)) {
      const one = await recoverOne(lies, place, cwd, signingKey, kinds);
      if (one) recovered.push(one);
    }
  }
  recovered.push(...(await completeLedger(home)));
  await removeAbandoned();
  return recovered;
}

/** Completes one run of this project, if it is dead and was started here; undefined if there is nothing to complete. */
export function recoverPlace(cwd: string, place: RunFolder): Promise<Recovered | undefined> {
  return recoverOne(homeFrom(cwd), place, cwd, undefined, KINDS);
}

/** Completes a run if it is dead and was started here. Other runs stay unchanged: a checkout can contain any journal. */
async function recoverOne(
  home: string,
  place: RunFolder,
  cwd: string,
  signingKey: string | undefined,
  kinds: Kinds,
): Promise<Recovered | undefined> {
  const { id, folder } = place;
  if (removeUnwritten(folder)) return { id, became: 'removed' };
  if (!hasJournal(folder)) return undefined;
  if (lifeOf(place) === 'alive') return { id, became: 'alive' };
  if (!isStartedHere(folder)) return { id, became: 'foreign', why: FOREIGN };
  const ledger = hasLedger(home) ? ledgerOf(home, undefined, 'all of it') : undefined;
  const suite = openSuiteIn(folder);
  if (suite) return recoverSuite(place, suite, ledger);
  if (!RUN_ID.test(id)) return { id, became: 'odd', why: ELSEWHERE };
  try {
    const became = await completeDead(place, { ledger, cwd, signingKey, kinds });
    return became === 'finished' ? undefined : { id, became };
  } catch (error) {
    // A run that cannot be completed must not stop the others.
    if (!(error instanceof Fault)) throw error;
    return { id, became: 'odd', why: error.message };
  }
}

/** How to complete a dead run. */
interface Completing {
  readonly cwd: string;
  readonly signingKey?: string | undefined;
  readonly ledger?: ReturnType<typeof ledgerOf> | undefined;
  readonly kinds?: Kinds;
  /** A run of this process that is over, although its journal names a living process. */
  readonly isOver?: boolean;
}

/** Completes a dead run that was started here. `finished` if another recovery was faster. */
export async function completeDead(
  { id, folder }: RunFolder,
  { cwd, signingKey, ledger, kinds = KINDS, isOver = false }: Completing,
): Promise<'recovered' | 'sealed' | 'removed' | 'alive' | 'finished'> {
  // Two recoveries of one run would overwrite each other.
  const lock = takeOwnLock(`recover-${id}`);
  if (!lock) return 'alive';
  try {
    if (!hasJournal(folder)) return 'finished';
    const run = openRun(folder);
    if (!isOver && isOwnerAlive(run)) return 'alive';
    if (run.plan && run.isOurs) await sweepBare(id);
    const signer = run.isSealed ? undefined : signerAt(cwd, signingKey);
    if (!isOver && !(await isLauncherGone(run.plan))) return 'alive';
    return await recoverRun(folder, kinds, { nowMs: systemClock.now(), sealing: { signer, ledger } });
  } finally {
    lock.close();
  }
}

/** Waits until the launcher of a dead agent run has saved the work tree. False after 70 s. */
async function isLauncherGone(plan: JournaledPlan | undefined): Promise<boolean> {
  const { launcher, owner } = plan ?? {};
  if (!launcher || !owner) return true;
  const isThere = (): boolean => isProcessAlive(launcher.pid) && startTicksOf(launcher.pid) === launcher.startTicks;
  for (let waitedMs = 0; waitedMs < LAUNCHER_MS; waitedMs += LOOK_MS) {
    if (owner.bootId !== bootId() || !isThere()) return true;
    await wait(LOOK_MS);
  }
  return false;
}

/** A launcher outlives its owner by slightly less than this. */
const LAUNCHER_MS = 70_000;
const LOOK_MS = 20;

/** Leaves an interrupted suite for `--resume`. Removes one that died before its cases were written. */
async function recoverSuite(
  { id, folder }: RunFolder,
  { plan }: SuiteState,
  ledger: ReturnType<typeof ledgerOf> | undefined,
): Promise<Recovered> {
  if (isSealed(folder)) {
    await removeJournal(folder, ledger);
    return { id, became: 'sealed' };
  }
  if (plan) return { id, became: 'resumable', why: `proctor run suite --resume ${id}` };
  rmSync(folder, { recursive: true, force: true });
  return { id, became: 'removed' };
}

/** The state in a suite's journal; undefined for another kind of run or an invalid journal. */
export function openSuiteIn(folder: string): SuiteState | undefined {
  try {
    const state = suiteStateIn(folder);
    return state.plan || state.layer ? state : undefined;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return undefined;
  }
}

/** Whether the process that prepares or runs a suite is alive. */
function ownedBy({ plan, layer }: SuiteState): boolean {
  return isOwnerAlive({ plan: plan ?? (layer && { owner: layer }) });
}

/** Removes a suite that was started here and died before its cases were written, so that a new run can use its name. */
export function removeUnbegunSuite(folder: string): void {
  if (!hasJournal(folder) || isSealed(folder)) return;
  const suite = openSuiteIn(folder);
  if (suite?.isOurs && !suite.plan && !ownedBy(suite)) rmSync(folder, { recursive: true, force: true });
}

const ELSEWHERE = 'It is not finished, and its name is not a run id.';
const FOREIGN =
  'You did not start it on this machine, so Proctor neither completes nor removes it. Read it with proctor show; proctor prune removes it once it is old enough.';

/**
 * The state of a run. `foreign`: interrupted, and not started here. `unknown`: its journal cannot be read. A sealed run is
 * finished, even if its journal still exists.
 */
export type Life = 'finished' | 'alive' | 'dead' | 'foreign' | 'unknown';

export function lifeOf({ id, folder }: RunFolder): Life {
  if (!hasJournal(folder)) return 'finished';
  try {
    const suite = openSuiteIn(folder);
    const run = suite ?? openRun(folder);
    // The journal of a copy names the owner of the original.
    const isNamedSo = run.plan === undefined || run.plan.request.run_id === id;
    if (isNamedSo && (suite ? ownedBy(suite) : isOwnerAlive(run))) return 'alive';
    if (isSealed(folder)) return 'finished';
    return run.isOurs ? 'dead' : 'foreign';
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return 'unknown';
  }
}

/** Whether a run's process is alive. */
export function isOwnerAlive({ plan }: { readonly plan: Pick<JournaledPlan, 'owner'> | undefined }): boolean {
  if (!plan) return false;
  const { pid, startTicks } = plan.owner;
  return plan.owner.bootId === bootId() && startTicksOf(pid) === startTicks && isProcessAlive(pid);
}

import { rmSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { JudgeAgent } from '../evidence/agent-recover.ts';
import type { AgentPlan } from '../evidence/agent-run.ts';
import { isStartedHere } from '../evidence/journal.ts';
import {
  hasJournal,
  isSealed,
  type OpenRun,
  openRun,
  recoverRun,
  removeJournal,
  removeUnwritten,
} from '../evidence/recover.ts';
import { attemptsIn, hasLedger, homeFrom, listRuns, RUN_ID, type RunPlace } from '../evidence/runs.ts';
import type { ScriptPlan } from '../evidence/script-run.ts';
import { type SuiteState, suiteStateIn } from '../evidence/suite-resume.ts';
import { removeAbandoned } from '../execute/abandoned.ts';
import { takeOwnLock } from '../execute/locks.ts';
import { bootId } from '../execute/machine.ts';
import { isAlive as isProcessAlive, startTicksOf } from '../execute/processes.ts';
import { sweepBare } from '../execute/sweep.ts';
import { signerAt } from './keys.ts';
import { completeLedger, ledgerOf } from './ledger.ts';

/** What became of a run whose journal is still there, or without its line in the ledger; or of the ledger. */
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
  /** Why it was left as it is, in a sentence. */
  readonly why?: string;
}

/**
 * Completes every dead run of this place that this user's Proctor began on this machine, and the ledger, and removes what
 * dead runs have left on this machine. Completed runs are signed with the key that is named, else with that of the place.
 */
export async function recover(cwd: string, { signingKey }: { signingKey?: string } = {}): Promise<Recovered[]> {
  const home = homeFrom(cwd);
  const recovered: Recovered[] = [];
  for (const lies of [home, attemptsIn(home)]) {
    for (const place of listRuns(lies)) {
      const one = await recoverOne(lies, place, cwd, signingKey);
      if (one) recovered.push(one);
    }
  }
  recovered.push(...(await completeLedger(home)));
  await removeAbandoned();
  return recovered;
}

/** Completes a run if it is dead and ours. Every other run is left as it is: a checkout may hold any journal. */
async function recoverOne(
  home: string,
  place: RunPlace,
  cwd: string,
  signingKey: string | undefined,
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
  // Two that recover the same run would write over each other.
  const lock = takeOwnLock(`recover-${id}`);
  if (!lock) return { id, became: 'alive' };
  try {
    if (!hasJournal(folder)) return undefined;
    const run = openRun(folder);
    if (isAlive(run)) return { id, became: 'alive' };
    if (run.plan && run.isOurs) await sweepBare(id);
    const signer = run.isSealed ? undefined : signerAt(cwd, signingKey);
    if (!(await isLauncherGone(run.plan))) return { id, became: 'alive' };
    const sealing = { signer, ledger };
    return { id, became: await recoverRun(folder, systemClock.now(), sealing, undefined, 'found', judgeAgent) };
  } catch (error) {
    // One that cannot be completed must not keep the others from it.
    if (!(error instanceof Fault)) throw error;
    return { id, became: 'odd', why: error.message };
  } finally {
    lock.close();
  }
}

/** Only runs of agents need it, and most of what recovers has none. */
const judgeAgent: JudgeAgent = async left => (await import('../run/agent/interrupted.ts')).judgeInterrupted(left);

/** Waits until the launcher of a dead agent's run has saved the work tree. False if it takes longer than it may. */
async function isLauncherGone(plan: OpenRun['plan']): Promise<boolean> {
  const { launcher, owner } = (plan ?? {}) as Partial<AgentPlan>;
  if (!launcher || !owner) return true;
  const isThere = (): boolean => isProcessAlive(launcher.pid) && startTicksOf(launcher.pid) === launcher.startTicks;
  for (let waitedMs = 0; waitedMs < LAUNCHER_MS; waitedMs += LOOK_MS) {
    if (owner.bootId !== bootId() || !isThere()) return true;
    await wait(LOOK_MS);
  }
  return false;
}

/** A little longer than a launcher outlives its owner. */
const LAUNCHER_MS = 70_000;
const LOOK_MS = 20;

/** An interrupted suite is not over: `--resume` goes on with it. One that died before its cases were laid out is removed. */
async function recoverSuite(
  { id, folder }: RunPlace,
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

/** What the journal of a suite's run says; undefined if it is that of another kind, or not to be believed. */
export function openSuiteIn(folder: string): SuiteState | undefined {
  try {
    const state = suiteStateIn(folder);
    return state.plan || state.layer ? state : undefined;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return undefined;
  }
}

/** Whether whoever lays out a suite, or runs it, is still there. */
function ownedBy({ plan, layer }: SuiteState): boolean {
  return isAlive({ plan: plan ?? (layer && { owner: layer }) });
}

/**
 * Removes what is left of a suite of ours that died while its cases were laid out: nothing was asked yet, and a new run
 * may have its name.
 */
export function removeUnbegunSuite(folder: string): void {
  if (!hasJournal(folder) || isSealed(folder)) return;
  const suite = openSuiteIn(folder);
  if (suite?.isOurs && !suite.plan && !ownedBy(suite)) rmSync(folder, { recursive: true, force: true });
}

const ELSEWHERE = 'It is not finished, and does not have the name of a run.';
const FOREIGN =
  'Its journal is not one that your Proctor wrote on this machine, so it is neither completed nor removed. proctor show reads it; proctor prune removes it when it is old enough.';

/**
 * How far a run has come. `foreign` is interrupted and not started here; `unknown` is a journal that cannot be read. A
 * run with its seal is finished, even if its journal was left over.
 */
export type Life = 'finished' | 'alive' | 'dead' | 'foreign' | 'unknown';

export function lifeOf({ id, folder }: RunPlace): Life {
  if (!hasJournal(folder)) return 'finished';
  try {
    const suite = openSuiteIn(folder);
    const run = suite ?? openRun(folder);
    // A copy says whose the original is, not whose it is itself.
    const isNamedSo = run.plan === undefined || run.plan.request.run_id === id;
    if (isNamedSo && (suite ? ownedBy(suite) : isAlive(run))) return 'alive';
    if (isSealed(folder)) return 'finished';
    return run.isOurs ? 'dead' : 'foreign';
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return 'unknown';
  }
}

/** Whether the process that a run belongs to is still there. */
export function isAlive({ plan }: { readonly plan: Pick<ScriptPlan, 'owner'> | undefined }): boolean {
  if (!plan) return false;
  return plan.owner.bootId === bootId() && startTicksOf(plan.owner.pid) === plan.owner.startTicks;
}

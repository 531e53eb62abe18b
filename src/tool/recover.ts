import { rmdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { removeTorn } from '../base/atomic.ts';
import { systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Signer } from '../contracts/seal/signature.ts';
import type { Ledger } from '../evidence/ledger.ts';
import type { OpenRun } from '../evidence/recover.ts';
import type { ScriptPlan } from '../evidence/script-run.ts';
import type { SuiteState } from '../evidence/suite-resume.ts';
import type { RunPlace } from '../evidence/runs.ts';
import { signerAt } from './keys.ts';
import { completeLedger, ledgerOf } from './ledger.ts';

/** What became of a run that was met with its journal still there, or without its line in the ledger; or of the ledger. */
export interface Recovered {
  readonly id: string;
  readonly became: 'recovered' | 'sealed' | 'removed' | 'alive' | 'resumable' | 'odd' | 'entered' | 'repaired';
  /** Why it was left as it is, in a sentence. */
  readonly why?: string;
}

/**
 * Completes every dead run of this place and the ledger, and takes away what dead ones have left on this machine. What is
 * completed is signed with the key that is named, else with that of the place.
 */
export async function recover(cwd: string, { signingKey }: { signingKey?: string } = {}): Promise<Recovered[]> {
  const { attemptsIn, homeFrom, listRuns, RUN_ID } = await import('../evidence/runs.ts');
  const home = homeFrom(cwd);
  const recovered: Recovered[] = [];
  for (const lies of [home, attemptsIn(home)]) {
    for (const place of listRuns(lies)) {
      if (RUN_ID.test(place.id)) removeIfEmpty(place);
      const one = await recoverIfDead(lies, place, () => signerAt(cwd, signingKey), 'may remove');
      if (one) recovered.push(one);
    }
  }
  recovered.push(...(await completeLedger(home)));
  const { removeAbandoned } = await import('../execute/abandoned.ts');
  await removeAbandoned();
  return recovered;
}

/** A run that died between its folder and its journal has left nothing but the folder. */
function removeIfEmpty({ folder }: RunPlace): void {
  try {
    rmdirSync(folder);
  } catch {
    // It holds something.
  }
}

/**
 * Completes a run if it is dead. One that is finished is left as it is, one that is alive, and one that is not certainly
 * a run of this home: a folder may come from anywhere, and looking at it must do no harm. Who only looks removes nothing.
 * The signer is asked for when there is something to seal.
 */
export async function recoverIfDead(
  home: string,
  place: RunPlace,
  signer: () => Promise<Signer | undefined>,
  may: 'may remove' | 'only looks' = 'only looks',
): Promise<Recovered | undefined> {
  const { id, folder } = place;
  const { hasJournal, recoverRun } = await import('../evidence/recover.ts');
  if (!hasJournal(folder)) {
    if (may === 'may remove') removeTorn(path.join(folder, 'evaluation.json'), systemClock.now());
    return undefined;
  }
  const { hasLedger, isAtHome, RUN_ID } = await import('../evidence/runs.ts');
  const ledger = hasLedger(home) ? ledgerOf(home, undefined, 'all of it') : undefined;
  const suite = await openSuiteIn(folder);
  if (suite && (await ownedBy(suite))) return { id, became: 'alive' };
  if (suite?.plan) return resumable(place, may, ledger);
  if (isAtHome(home, place) && (suite?.layer !== undefined || isUnbegunSuite(place))) {
    if (may === 'only looks') return { id, became: 'odd', why: UNBEGUN };
    rmSync(folder, { recursive: true, force: true });
    return { id, became: 'removed' };
  }
  if (!RUN_ID.test(id) || !isAtHome(home, place)) return { id, became: 'odd', why: ELSEWHERE };
  const { holdName } = await import('../execute/slots.ts');
  // Two that recover the same run would write over each other.
  const lock = await holdName(`recover-${id}`);
  if (!lock) return { id, became: 'alive' };
  try {
    if (!hasJournal(folder)) return undefined;
    const run = await ownRun(place);
    if (await isAlive(run)) return { id, became: 'alive' };
    if (!run.plan && !run.isSealed && may === 'only looks') return { id, became: 'odd', why: UNBEGUN };
    const { sweepBare } = await import('../execute/sweep.ts');
    if (run.plan) await sweepBare(id);
    return { id, became: await recoverRun(folder, systemClock.now(), { signer: await signer(), ledger }) };
  } catch (error) {
    // One that cannot be completed must not keep the others from it.
    if (!(error instanceof Fault)) throw error;
    return { id, became: 'odd', why: error.message };
  } finally {
    lock.close();
  }
}

/** What the journal of a suite's run says; undefined if it is that of another kind, or not to be believed. */
export async function openSuiteIn(folder: string): Promise<SuiteState | undefined> {
  const { suiteStateIn } = await import('../evidence/suite-resume.ts');
  try {
    const state = suiteStateIn(folder);
    return state.plan || state.layer ? state : undefined;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return undefined;
  }
}

/** Whether whoever lays out a suite, or runs it, is still there. */
function ownedBy({ plan, layer }: SuiteState): Promise<boolean> {
  return isAlive({ plan: plan ?? (layer && { owner: layer }) });
}

/**
 * Takes away what is left of a suite that died while its cases were laid out: nothing was asked yet, and whoever wants
 * its name may have it.
 */
export async function removeUnbegunSuite(folder: string): Promise<void> {
  const { hasJournal, isSealed } = await import('../evidence/recover.ts');
  if (!hasJournal(folder) || isSealed(folder)) return;
  const suite = await openSuiteIn(folder);
  if (suite?.layer && !suite.plan && !(await ownedBy(suite))) rmSync(folder, { recursive: true, force: true });
}

/** A suite that was interrupted is not over: whoever started it can go on with it. */
async function resumable(
  { id, folder }: RunPlace,
  may: 'may remove' | 'only looks',
  ledger: Ledger | undefined,
): Promise<Recovered> {
  const { isSealed, removeJournal } = await import('../evidence/recover.ts');
  if (!isSealed(folder)) return { id, became: 'resumable', why: `proctor run suite --resume ${id}` };
  if (may === 'may remove') await removeJournal(folder, ledger);
  return { id, became: 'sealed' };
}

/** A suite that died before it could say whose it is: its journal is empty, and nobody has touched it for long. */
function isUnbegunSuite({ lane, folder }: RunPlace): boolean {
  const stat = statSync(path.join(folder, 'journal.ndjson'), { throwIfNoEntry: false });
  const isQuiet = stat !== undefined && systemClock.now() - stat.mtimeMs > LAYOUT_MS;
  return (lane === 'baseline' || lane === 'new') && stat?.size === 0 && isQuiet;
}

/** Longer than it takes to lay out as many cases as there may be. */
const LAYOUT_MS = 10 * 60_000;

const ELSEWHERE = 'It is not finished, and not one of the runs of this place.';
const UNBEGUN = 'It had not begun when it was interrupted. proctor recover removes it.';

/** What a journal says, if it is that of the folder that it lies in. */
async function ownRun({ id, folder }: RunPlace): Promise<OpenRun> {
  const { openRun } = await import('../evidence/recover.ts');
  const run = openRun(folder);
  if (run.plan && run.plan.request.run_id !== id) {
    throw new Fault('foreign_journal', 'The journal in it is that of another run.');
  }
  return run;
}

/** How far a run has come. Of one whose journal is not to be believed, nobody knows. */
export async function lifeOf(place: RunPlace): Promise<'finished' | 'alive' | 'dead' | 'unknown'> {
  const { hasJournal } = await import('../evidence/recover.ts');
  if (!hasJournal(place.folder)) return 'finished';
  const suite = await openSuiteIn(place.folder);
  if (suite) return (await ownedBy(suite)) ? 'alive' : 'dead';
  try {
    return (await isAlive(await ownRun(place))) ? 'alive' : 'dead';
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return 'unknown';
  }
}

/** Whether the process that a run belongs to is still there. */
export async function isAlive({ plan }: { readonly plan: Pick<ScriptPlan, 'owner'> | undefined }): Promise<boolean> {
  if (!plan) return false;
  const [{ bootId }, { startTicksOf }] = await Promise.all([
    import('../execute/machine.ts'),
    import('../execute/processes.ts'),
  ]);
  return plan.owner.bootId === bootId() && startTicksOf(plan.owner.pid) === plan.owner.startTicks;
}

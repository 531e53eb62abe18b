import { existsSync, lstatSync, readdirSync, rmdirSync, rmSync, type Stats } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { finish, SEAL, type Sealing } from '../run-folder/finish.ts';
import { JOURNAL, readJournal } from '../run-folder/journal.ts';
import {
  type Because,
  isJournalLine,
  type Interrupted,
  type JournaledKind,
  type JournaledPlan,
  type JournalLine,
  type Kinds,
  kindNamed,
} from './kind.ts';
import { areSound, oddJournal, PASSING, removeUnfinished } from './recovery-parts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { oddFolder, refuseForeign, refuseOdd } from '../run-folder/own-file.ts';
import { RUN_ID } from '../run-folder/runs.ts';
import { sealedEntry } from './sealed-entry.ts';
import { storedFiles } from '../run-folder/sealed-files.ts';

/** A run whose journal still exists. */
export interface OpenRun {
  readonly plan: JournaledPlan | undefined;
  readonly isSealed: boolean;
  /** This user started it on this machine; see `JournalChain`. */
  readonly isOurs: boolean;
}

/** Whether a run folder contains anything that is named like a journal. */
export function hasJournal(folder: string): boolean {
  return entryAt(path.join(folder, JOURNAL)) !== undefined;
}

export function openRun(folder: string): OpenRun {
  const { lines, isOurs } = readJournal<unknown>(folder);
  return { plan: lineOf(lines.filter(isJournalLine), 'planned')?.plan, isSealed: isSealed(folder), isOurs };
}

/** Whether the run is complete: the seal is written last. */
export function isSealed(folder: string): boolean {
  return entryAt(path.join(folder, SEAL))?.isFile() === true;
}

/** Removes the journal of a sealed run. Its process may have died before the run had a line in the ledger. */
export async function removeJournal(folder: string, ledger?: Ledger): Promise<void> {
  const entry = ledger && sealedEntry(folder);
  if (entry) await ledger.enter(entry);
  // The launcher may have saved a work tree while the run was being sealed.
  for (const file of [...PASSING, JOURNAL]) rmSync(path.join(folder, file), { force: true });
}

function entryAt(file: string): Stats | undefined {
  try {
    return lstatSync(file);
  } catch {
    return undefined;
  }
}

/** How to complete an interrupted run. */
export interface Recovery {
  readonly nowMs: number;
  readonly sealing?: Sealing;
  readonly because?: Because;
  /** `made by us`: this process created the folder, so a journal without proof counts as empty. */
  readonly whose?: 'made by us' | 'found';
}

/**
 * Completes an interrupted run, so that its folder is valid and states what happened. Returns `removed` if the run had
 * not started. Rejects a folder that cannot be one of our runs, and leaves it unchanged.
 */
export async function recoverRun(
  folder: string,
  kinds: Kinds,
  { nowMs, sealing = { signer: undefined }, because = INTERRUPTED, whose = 'found' }: Recovery,
): Promise<'sealed' | 'recovered' | 'removed'> {
  try {
    if (!hasJournal(folder)) {
      if (isSealed(folder)) return 'sealed';
      throw new Fault('no_journal', 'This folder does not contain an interrupted run.');
    }
    const lines = linesIn(folder, whose);
    // A sealed folder is complete, whatever its journal says.
    if (isSealed(folder)) {
      await removeJournal(folder, sealing.ledger);
      return 'sealed';
    }
    refuseOdd(folder);
    refuseForeign(folder);
    const plan = lineOf(lines, 'planned')?.plan;
    if (!plan) {
      removeEmpty(folder);
      return 'removed';
    }
    const kind = await kindNamed(kinds, plan.request.kind);
    if (!kind) throw oddJournal();
    const started = lineOf(lines, 'started');
    if (kind.removable && !started) {
      removeUnstarted(folder, kind.removable);
      return 'removed';
    }
    const [captured, read] = [lineOf(lines, 'captured'), lineOf(lines, 'read')];
    const notes = lines.flatMap(line => (line.is === 'noted' ? [line.note] : []));
    await complete(kind, { folder, plan, started, captured, read, notes, because, nowMs }, sealing);
    rmSync(path.join(folder, JOURNAL), { force: true });
    return 'recovered';
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('recovery_failed', 'The run folder could not be completed.', { cause });
  }
}

/**
 * The well-formed lines of the journal. A checkout may contain any journal, so only one that we wrote may be sealed.
 */
function linesIn(folder: string, whose: Recovery['whose']): JournalLine[] {
  const { lines, isOurs } = readJournal<unknown>(folder);
  if (isOurs) return lines.filter(isJournalLine);
  if (whose === 'made by us') return [];
  throw new Fault('not_started_here', 'The run was interrupted, and you did not start it on this machine.');
}

function lineOf<Is extends JournalLine['is']>(
  lines: readonly JournalLine[],
  is: Is,
): Extract<JournalLine, { is: Is }> | undefined {
  return lines.findLast((line): line is Extract<JournalLine, { is: Is }> => line.is === is);
}

/** If the documents violate a contract, removes and seals nothing, because then the journal is not ours. */
async function complete(kind: JournaledKind, left: Interrupted, sealing: Sealing): Promise<void> {
  const { folder, plan, nowMs } = left;
  const { documents, discarded } = await kind.rebuild(left);
  if (!areSound(documents, kind.contracts)) throw oddJournal();
  removeUnfinished(folder, kind.stepFolder);
  for (const file of discarded) rmSync(path.join(folder, file), { recursive: true, force: true });
  await finish(folder, {
    runId: plan.request.run_id,
    kind: kind.sealedAs,
    documents,
    stored: storedFiles([]),
    passing: PASSING,
    sealedAtMs: nowMs,
    ...sealing,
  });
}

/** Removes a run that had not started, unless its folder contains anything else. */
function removeUnstarted(folder: string, removable: RegExp): void {
  if (!readdirSync(folder).every(name => removable.test(name))) throw oddFolder();
  rmSync(folder, { recursive: true, force: true });
}

/** Removes a run folder that contains only a journal and empty folders. */
function removeEmpty(folder: string): void {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const isUnbegun = RUN_ID.test(path.basename(folder)) && names.every(name => EMPTY_RUN.has(name));
  if (!isUnbegun) throw oddFolder();
  rmSync(path.join(folder, JOURNAL));
  for (const below of ['evidence/internal', 'evidence', '.']) {
    const within = path.join(folder, below);
    if (existsSync(within)) rmdirSync(within);
  }
}

const EMPTY_RUN: ReadonlySet<string> = new Set([JOURNAL, 'evidence', 'evidence/internal']);

/**
 * Removes the folder of a run that died before it wrote the first line of its journal. This needs no proof of who
 * started the run: the folder belongs to this user and contains no bytes. Returns whether it was removed.
 */
export function removeUnwritten(folder: string): boolean {
  const journal = entryAt(path.join(folder, JOURNAL));
  if (journal && (!journal.isFile() || journal.size > 0)) return false;
  try {
    refuseOdd(folder);
    refuseForeign(folder);
    if (journal) removeEmpty(folder);
    else if (RUN_ID.test(path.basename(folder))) rmdirSync(folder);
    else return false;
    return true;
  } catch {
    // The folder is not empty, or is gone.
    return false;
  }
}

const INTERRUPTED: Because = {
  reason: 'interrupted',
  message: 'Proctor was interrupted before the run was complete.',
  detail: 'Proctor exited before the run was complete. The evidence was completed from the journal.',
};

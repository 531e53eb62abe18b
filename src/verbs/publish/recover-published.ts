import { lstatSync } from 'node:fs';
import path from 'node:path';
import { codeOf, Fault } from '../../base/fault.ts';
import { hasJournal, isSealed, removeUnwritten } from '../../evidence/recovery/recover.ts';
import { isStartedHere } from '../../evidence/run-folder/journal.ts';
import { homeFrom } from '../../evidence/run-folder/runs.ts';
import { readRecord } from '../../publish/script-runs.ts';
import { ledgerOf } from '../ledger.ts';
import { completeDead, lifeOf } from '../recover.ts';
import { finishPublished, refuseRun } from './run-published.ts';

/** `unbegun`: the script has not started, so the order can start again. `alive`: its process still runs. */
export type RecoveredPublished = 'ended' | 'unbegun' | 'alive';

export interface RecoverPublishedOptions {
  /** The run belongs to this process, and is over. */
  readonly isOver?: boolean;
  readonly onWarning?: (sentence: string) => void;
}

/**
 * Completes a run of a published script that a dead server left, as `proctor recover` does. Its user then sees how it
 * ended. Throws if that must be tried again, for example because the disk is full.
 */
export async function recoverPublished(
  cwd: string,
  runId: string,
  { isOver = false, onWarning }: RecoverPublishedOptions = {},
): Promise<RecoveredPublished> {
  const home = homeFrom(cwd);
  const folder = path.join(home, 'runs', 'script', runId);
  if (readRecord(home, runId)?.refused) return 'ended';
  if (!lstatSync(folder, { throwIfNoEntry: false }) || removeUnwritten(folder)) return 'unbegun';
  try {
    const became = await completed({ id: runId, lane: 'script', folder }, cwd, home, isOver);
    if (became === 'alive') return 'alive';
    if (became === 'removed') return 'unbegun';
  } catch (error) {
    // A disk that could not be read may be readable later.
    if (!(error instanceof Fault) || !FINAL.has(error.code) || codeOf(error.cause) !== '') throw error;
    refuseRun(home, runId, new Fault(error.code, UNCOMPLETED));
    return 'ended';
  }
  if (!readRecord(home, runId)?.scanned) await finishPublished(home, runId, onWarning);
  return 'ended';
}

async function completed(place: Parameters<typeof lifeOf>[0], cwd: string, home: string, isOver: boolean) {
  const { folder } = place;
  if (!hasJournal(folder)) {
    if (isSealed(folder)) return 'finished';
    throw new Fault('odd_folder', UNCOMPLETED);
  }
  if (!isOver && lifeOf(place) === 'alive') return 'alive';
  if (!isStartedHere(folder)) throw new Fault('not_started_here', UNCOMPLETED);
  return completeDead(place, { cwd, ledger: ledgerOf(home, undefined, 'all of it'), isOver });
}

/** Ends what dead Proctor processes left running, so that no script of theirs goes on. */
export { removeAbandoned as endAbandoned } from '../../execute/launcher/abandoned.ts';

/** Faults that another try does not change: the run folder is not as this server left it. */
const FINAL: ReadonlySet<string> = new Set(['odd_folder', 'odd_journal', 'not_started_here', 'foreign_journal']);
const UNCOMPLETED =
  'The server stopped during this run, and its evidence could not be completed. Tell the operator the id of the run.';

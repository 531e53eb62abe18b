import { existsSync, lstatSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { readJson } from '../base/json.ts';
import { readRegular } from '../base/regular.ts';
import { hasJournal, isSealed } from '../evidence/recovery/recover.ts';
import { JOURNAL } from '../evidence/run-folder/journal.ts';
import type { RunFolder } from '../evidence/run-folder/runs.ts';
import { type CommandOwner, type OwnCommand, startOwnCommand } from '../execute/host/own-command.ts';
import { isUnjudged } from './judged.ts';
import { type Life, lifeOf, openSuiteIn } from './recover.ts';

export { type CommandOwner, interruptOwnCommand, isCommandAlive } from '../execute/host/own-command.ts';

/** Where such a process runs. */
export interface SuiteSurroundings {
  readonly cwd: string;
  /** That of this process by default. It contains the address of the queue, because other users can read arguments. */
  readonly environment: Readonly<Record<string, string | undefined>> | undefined;
  /** The store of a queue. */
  readonly store: string | undefined;
}

/** Resumes a suite in a process of its own, which continues if this one ends. */
export function startSuiteProcess(
  { id, lane }: RunFolder,
  { cwd, environment, store }: SuiteSurroundings,
  resultFile: string,
): OwnCommand {
  const words = [
    'run',
    'suite',
    '--resume',
    `${lane}/${id}`,
    '--json',
    ...(store === undefined ? [] : ['--store', store]),
  ];
  return startOwnCommand(words, cwd, environment, resultFile);
}

/** Why such a process refused to run; undefined if it did not say. */
export function suiteRefusal(resultFile: string): { readonly code: string; readonly message: string } | undefined {
  const bytes = readRegular(resultFile, RESULT_BYTES_MAX);
  const reading = bytes && readJson(bytes, { bytesMax: RESULT_BYTES_MAX });
  const { error } = (reading?.ok ? reading.value : {}) as { error?: { code?: unknown; message?: unknown } };
  if (typeof error?.code !== 'string' || typeof error.message !== 'string') return undefined;
  return { code: error.code, message: error.message };
}

const RESULT_BYTES_MAX = 1024 ** 2;

export interface SuiteLife {
  readonly life: Life | 'gone';
  /** Whether the run folder contains everything that a resume needs, or is sealed. */
  readonly isPlanned: boolean;
  /** The run is sealed, but its process died before it had judged the answers. */
  readonly isUnjudged: boolean;
  /** The process that runs it. */
  readonly owner?: CommandOwner;
}

/** The life of a suite run, and the process that runs it. */
export function suiteLife(place: RunFolder): SuiteLife {
  if (!existsSync(place.folder)) return { life: 'gone', isPlanned: false, isUnjudged: false };
  const life = lifeOf(place);
  if (life === 'finished') {
    const isDone = isSealed(place.folder);
    return { life, isPlanned: isDone, isUnjudged: isDone && isLeftUnjudged(place.folder) };
  }
  const { plan, layer } = openSuiteIn(place.folder) ?? {};
  const owner = plan?.owner ?? layer;
  return { life, isPlanned: plan !== undefined, isUnjudged: false, ...(owner && life === 'alive' && { owner }) };
}

function isLeftUnjudged(folder: string): boolean {
  try {
    return hasJournal(folder) || isUnjudged(folder);
  } catch (error) {
    // A folder that cannot be read cannot be judged either.
    if (!(error instanceof Fault)) throw error;
    return false;
  }
}

/** Removes a run folder that a dead server created and left without a line in its journal. */
export function removeUnwrittenRun({ folder }: RunFolder): void {
  try {
    const isEmpty = readdirSync(folder).every(name => name === JOURNAL);
    if (!isEmpty || (lstatSync(path.join(folder, JOURNAL), { throwIfNoEntry: false })?.size ?? 0) > 0) return;
    rmSync(path.join(folder, JOURNAL), { force: true });
    rmdirSync(folder);
  } catch {
    // It is gone.
  }
}

import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { makeFolders, modesIn } from '../../base/private.ts';
import type { AgentOrder } from '../agent/order.ts';

/** Where the recordings of a suite lie, and what is done with them. */
export interface Recordings {
  readonly mode: 'record' | 'replay';
  readonly folder: string;
}

/** The recordings that were asked for; undefined where the model answers and nothing is recorded. */
export function recordingsOf(
  mode: AgentOrder['modelMode'] = 'live',
  folder: string | undefined,
): Recordings | undefined {
  if (mode === 'live') {
    if (folder === undefined) return undefined;
    throw new Fault('usage', 'Recordings are of use only with --model-mode record or replay.');
  }
  if (folder === undefined)
    throw new Fault('usage', `The model mode ${mode} needs a folder of recordings: --recordings FOLDER.`);
  return { mode, folder };
}

/** Refuses a folder before anything is asked: one that would be written over, or one that is not there. */
export function checkRecordings({ mode, folder }: Recordings): void {
  const isFolder = statSync(folder, { throwIfNoEntry: false })?.isDirectory();
  if (mode === 'replay' && !isFolder) throw new Fault('usage', 'There is no such folder of recordings to replay.');
  if (isFolder === false) throw new Fault('usage', 'The recordings need a folder, and a file of that name is there.');
  if (mode === 'record' && isFolder && readdirSync(folder).length > 0)
    throw new Fault('usage', 'The folder of recordings is not empty. A recording replaces no file: name another one.');
}

export function makeRecordings({ mode, folder }: Recordings): void {
  if (mode !== 'record') return;
  try {
    makeFolders(folder, modesIn(folder).folder);
  } catch (cause) {
    throw new Fault('usage', 'The folder of recordings could not be made.', { cause });
  }
}

/**
 * The file of one attempt at a case: `refund-small.1.2.json` is the second attempt in the first repetition. Case ids are
 * names of files already, and two numbers always follow, so no two attempts share one. A replay that has more attempts
 * than were recorded, because it was interrupted, takes the last one there is.
 */
export function recordingFor(
  { mode, folder }: Recordings,
  one: { readonly caseId: string; readonly repetition: number; readonly attempt: number },
): string {
  const fileOf = (attempt: number): string => path.join(folder, `${one.caseId}.${one.repetition}.${attempt}.json`);
  if (mode === 'record') return fileOf(one.attempt);
  for (let attempt = one.attempt; attempt > 1; attempt--) if (existsSync(fileOf(attempt))) return fileOf(attempt);
  return fileOf(1);
}

import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { makeFolders, modesIn } from '../../base/private.ts';
import type { AgentOrder } from '../agent/order.ts';

export interface Recordings {
  readonly mode: 'record' | 'replay';
  readonly folder: string;
}

export function recordingsOf(
  mode: AgentOrder['modelMode'] = 'live',
  folder: string | undefined,
): Recordings | undefined {
  if (mode === 'live') {
    if (folder === undefined) return undefined;
    throw new Fault('usage', '--recordings requires --model-mode record or --model-mode replay.');
  }
  if (folder === undefined)
    throw new Fault('usage', `--model-mode ${mode} requires a recordings folder: --recordings FOLDER.`);
  return { mode, folder };
}

/** Rejects a folder that recording would overwrite, or that replay cannot find. */
export function checkRecordings({ mode, folder }: Recordings): void {
  const isFolder = statSync(folder, { throwIfNoEntry: false })?.isDirectory();
  if (isFolder === false) throw new Fault('usage', 'The recordings path is not a folder. Specify a folder.');
  if (mode === 'replay' && !isFolder)
    throw new Fault('usage', 'The recordings folder does not exist, so there is nothing to replay.');
  if (mode === 'record' && isFolder && readdirSync(folder).length > 0)
    throw new Fault(
      'usage',
      'The recordings folder is not empty, and recordings never overwrite files. Specify another folder.',
    );
}

export function makeRecordings({ mode, folder }: Recordings): void {
  if (mode !== 'record') return;
  try {
    makeFolders(folder, modesIn(folder).folder);
  } catch (cause) {
    throw new Fault('usage', 'The recordings folder could not be created.', { cause });
  }
}

/**
 * Returns the file of one attempt: `refund-small.1.2.json` is attempt 2 in repetition 1. Case ids are valid file names,
 * so names never collide. A replay with more attempts than were recorded, after an interruption, uses the last
 * recording.
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

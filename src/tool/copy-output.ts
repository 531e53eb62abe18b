import { cpSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';

/** Refuses a place to copy output to that holds something, before anything is run. */
export function checkTarget(folder: string): void {
  if (!existsSync(folder)) return;
  if (!statSync(folder).isDirectory()) throw new Fault('usage', 'The place to copy the output to is not a folder.');
  if (readdirSync(folder).length > 0)
    throw new Fault(
      'usage',
      'The folder to copy the output to is not empty. Give an empty one, or one that is not there yet.',
    );
}

/** Copies what a run left to where somebody wants it. */
export function copyOutput(folder: string, target: string): void {
  try {
    mkdirSync(target, { recursive: true });
    const output = path.join(folder, 'output');
    if (existsSync(output)) cpSync(output, target, { recursive: true, errorOnExist: true, force: false });
  } catch (cause) {
    throw new Fault('copy_failed', 'The output is in the run folder, but could not be copied from there.', { cause });
  }
}

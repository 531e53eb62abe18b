import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { temporaryBeside } from '../base/atomic.ts';
import { codeOf, Fault } from '../base/fault.ts';
import { makeFolders, OWN_FILE } from '../base/private.ts';
import type { SentRun } from '../run/suite/reported-attempt.ts';

/** In the folder of attempts: one file per run that came from a worker, with the key of its attempt. */
export const TAKEN = 'taken';

/** Notes which attempt a run answers, so that no second attempt can use it. False if another attempt does. */
export function noteTaken(home: string, sent: SentRun, key: string): boolean {
  const folder = path.join(home, TAKEN);
  try {
    makeFolders(folder);
    const file = path.join(folder, sent.id);
    const whole = temporaryBeside(file);
    try {
      // A note is complete or absent, even if the process dies meanwhile.
      writeFileSync(whole, textOf(sent, key), { flag: 'wx', mode: OWN_FILE });
      linkSync(whole, file);
    } finally {
      rmSync(whole, { force: true });
    }
    return true;
  } catch (cause) {
    if (codeOf(cause) === 'EEXIST') return isNoted(home, sent, key);
    throw new Fault('folder_failed', 'The run of a worker could not be stored.', { cause });
  }
}

/** Whether this run was noted for this attempt. */
export function isNoted(home: string, sent: SentRun, key: string): boolean {
  try {
    return readFileSync(path.join(home, TAKEN, sent.id), 'utf8') === textOf(sent, key);
  } catch {
    return false;
  }
}

function textOf({ pack }: SentRun, key: string): string {
  return `${key} ${pack.sha256}\n`;
}

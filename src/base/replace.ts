import { closeSync, openSync, renameSync, writeSync } from 'node:fs';
import { Fault } from './fault.ts';
import { OWN_FILE } from './private.ts';

/** Writes a file of which a reader sees the whole or nothing. It is on the disk when somebody syncs it there. */
export function replaceFile(file: string, text: string, bytes: number): void {
  const temporary = `${file}${UNFINISHED}`;
  const fd = openSync(temporary, 'w', OWN_FILE);
  try {
    // A disk that is almost full takes a part.
    if (writeSync(fd, text) !== bytes) throw new Fault('disk_full', 'The disk is full.');
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, file);
}

/** What the name of a file ends with that is being written. */
export const UNFINISHED = '.tmp';

import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';
import { Fault } from './fault.ts';
import { OWN_FILE } from './private.ts';

/** Writes a file through a temporary name, so a reader sees all of it or nothing. `sync` brings it to the disk first. */
export function replaceFile(file: string, content: string | Uint8Array, bytes: number, sync = false): void {
  const temporary = `${file}${UNFINISHED}`;
  const fd = openSync(temporary, 'w', OWN_FILE);
  try {
    const written = typeof content === 'string' ? writeSync(fd, content) : writeSync(fd, content);
    // A disk that is almost full accepts a part.
    if (written !== bytes) throw new Fault('disk_full', 'The disk is full.');
    if (sync) fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, file);
}

/** The suffix of a file that is not completely written. */
export const UNFINISHED = '.tmp';

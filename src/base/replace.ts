import { closeSync, fsyncSync, openSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { Fault } from './fault.ts';
import { OWN_FILE } from './private.ts';

/** Replaces a file. A reader sees the whole file or nothing, but a power cut can lose it until it is synced. */
export function replaceFile(file: string, text: string, bytes: number): void {
  replace(file, fd => {
    // A disk that is almost full accepts only part of the bytes.
    if (writeSync(fd, text) !== bytes) throw new Fault('disk_full', 'The disk is full.');
  });
}

/** Replaces a file and syncs it, so that it survives a power cut. */
export function replaceLasting(file: string, bytes: string | Uint8Array): void {
  replace(file, fd => {
    writeFileSync(fd, bytes);
    fsyncSync(fd);
  });
}

function replace(file: string, write: (fd: number) => void): void {
  const temporary = `${file}${UNFINISHED}`;
  const fd = openSync(temporary, 'w', OWN_FILE);
  try {
    write(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, file);
}

/** The suffix of a file that is still being written. */
export const UNFINISHED = '.tmp';

import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { randomBytes } from 'node:crypto';
import { Fault } from './fault.ts';

/**
 * Writes a whole file or none of it: a reader sees the old bytes or the new ones, never a part, also after a power cut.
 */
export function writeAtomic(file: string, bytes: string | Uint8Array): void {
  const folder = path.dirname(file);
  const temporary = path.join(folder, `.${path.basename(file)}.${randomBytes(6).toString('hex')}.tmp`);
  try {
    const fd = openSync(temporary, 'wx', 0o644);
    try {
      writeFileSync(fd, bytes);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, file);
    syncFolder(folder);
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw new Fault('write_failed', `The file ${path.basename(file)} could not be written.`, { cause });
  }
}

/** A rename is durable only once the folder that holds the name is. Windows has no such call and needs none. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { randomBytes } from 'node:crypto';
import { Fault } from './fault.ts';
import { OWN_FILE } from './private.ts';

/**
 * Replaces a file atomically: a reader sees the old bytes or the new ones, never a partial file, even after a power
 * cut. Only the owner can read it, unless `mode` allows more. The umask applies.
 */
export function writeAtomic(file: string, bytes: string | Uint8Array | Iterable<string>, mode = OWN_FILE): void {
  const folder = path.dirname(file);
  const temporary = temporaryBeside(file);
  try {
    const fd = openSync(temporary, 'wx', mode);
    try {
      if (typeof bytes === 'string' || bytes instanceof Uint8Array) writeFileSync(fd, bytes);
      else for (const piece of bytes) writeFileSync(fd, piece);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, file);
    syncFolder(folder);
  } catch (cause) {
    rmSync(temporary, { force: true });
    if (cause instanceof Fault) throw cause;
    throw new Fault('write_failed', `The file ${path.basename(file)} could not be written.`, { cause });
  }
}

/** Removes the temporary files of crashed writers: those unchanged for ten seconds. */
export function removeTorn(file: string, nowMs: number): void {
  const folder = path.dirname(file);
  const final = path.basename(file);
  for (const name of namesIn(folder)) {
    if (tornFile(name) !== final) continue;
    const torn = path.join(folder, name);
    const touchedMs = statSync(torn, { throwIfNoEntry: false })?.mtimeMs ?? nowMs;
    if (nowMs - touchedMs > TORN_AFTER_MS) rmSync(torn, { force: true });
  }
}

const TORN_AFTER_MS = 10_000;

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Skip a folder that cannot be read.
    return [];
  }
}

/** The final name of a temporary file; undefined for any other file. */
export function tornFile(name: string): string | undefined {
  return /^\.(.+)\.[0-9a-f]{12}\.tmp$/.exec(name)?.[1];
}

/** An unused name in the same folder, for a file that is still being written. */
export function temporaryBeside(file: string): string {
  return path.join(path.dirname(file), `.${path.basename(file)}.${randomBytes(6).toString('hex')}.tmp`);
}

/** Makes a rename durable. Windows neither has nor needs this call. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

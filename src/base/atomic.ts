import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { randomBytes } from 'node:crypto';
import { Fault } from './fault.ts';
import { OWN_FILE } from './private.ts';

/**
 * Writes a whole file or none of it: a reader sees the old bytes or the new ones, never a part, also after a power cut.
 * Only its owner can read it, unless `mode` says more, of which the umask takes its part.
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

/** Takes away what is left of writers of a file that died over it: parts that nobody has touched for ten seconds. */
export function removeTorn(file: string, nowMs: number): void {
  const folder = path.dirname(file);
  for (const name of namesIn(folder)) {
    if (tornFile(name) !== path.basename(file)) continue;
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
    // What cannot be read stays as it is.
    return [];
  }
}

/** The name of the file that a part like this was to become; undefined of everything else. */
export function tornFile(name: string): string | undefined {
  return /^\.(.+)\.[0-9a-f]{12}\.tmp$/.exec(name)?.[1];
}

/** A name in the same folder that nobody has, for what is not finished yet. */
export function temporaryBeside(file: string): string {
  return path.join(path.dirname(file), `.${path.basename(file)}.${randomBytes(6).toString('hex')}.tmp`);
}

/** A rename is durable only once the folder that holds the name is. Windows has no such call and needs none. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

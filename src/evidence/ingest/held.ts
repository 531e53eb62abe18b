import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats, statSync } from 'node:fs';
import { Fault } from '../../base/fault.ts';

/**
 * Opens the folder that a script worked in, and holds it: everything below is reached through the descriptor, so no name
 * that the script has swapped for a link can lead elsewhere. A text says what the script has done to the folder instead.
 */
export function holdWorkFolder(workFolder: string): number | string {
  let fd: number | undefined;
  try {
    if (!lstatSync(workFolder).isDirectory()) return 'the work folder is no folder any more';
    fd = openSync(workFolder, FOLDER_FLAGS);
    // Without /proc every file would seem to be missing, and a run would lose its output in silence.
    if (statSync(below(fd, '.')).ino === fstatSync(fd).ino) return fd;
  } catch (cause) {
    if (fd !== undefined) closeSync(fd);
    // A folder that is not there was taken away from us; one that is locked or a link was made so by the script.
    if (!isCode(cause, 'ENOENT')) {
      const doing = scriptsDoing(cause);
      if (doing) return `the work folder ${doing}`;
    }
    throw unreadable(cause);
  }
  closeSync(fd);
  throw unreadable(undefined);
}

/** Where something in a held folder is reached. The name is one segment; only the last one of a path may be doubted. */
export function below(fd: number, name: string): string {
  return `/proc/self/fd/${fd}/${name}`;
}

/** The links of a folder are not followed, and neither is the folder itself if it has become one. */
export const FOLDER_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** A FIFO or a device must not hold us, should a file have become one since it was looked at. */
export const FILE_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** What a script has done to a thing of its own that cannot be read now; undefined if the machine is to blame. */
export function scriptsDoing(error: unknown): string | undefined {
  const code = codeOf(error);
  return Object.hasOwn(DOINGS, code) ? DOINGS[code] : undefined;
}

const DOINGS: Record<string, string> = {
  ENOENT: 'vanished while it was read',
  ENOTDIR: 'is no folder any more',
  EISDIR: 'is a folder now',
  ELOOP: 'is a link now',
  ENXIO: 'is a FIFO or a socket now',
  ENODEV: 'is a device now',
  ENOTCONN: 'is a mount whose program is gone',
  EACCES: 'may not be read',
  EPERM: 'may not be read',
};

/** Whether a thing is still the one that was looked at, with the same content. */
export function isSame(a: Stats, b: Stats): boolean {
  return (
    a.ino === b.ino &&
    a.dev === b.dev &&
    a.size === b.size &&
    a.nlink === b.nlink &&
    a.mtimeMs === b.mtimeMs &&
    a.ctimeMs === b.ctimeMs
  );
}

export function isCode(error: unknown, code: string): boolean {
  return codeOf(error) === code;
}

/** The code of an error of the system; empty for anything else, which is then a bug. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && 'syscall' in error ? String(error.code) : '';
}

function unreadable(cause: unknown): unknown {
  if (cause !== undefined && codeOf(cause) === '') return cause;
  return new Fault('ingest_io', 'What the run left behind could not be read.', { cause });
}

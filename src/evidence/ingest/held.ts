import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats, statSync } from 'node:fs';
import { Fault } from '../../base/fault.ts';

/**
 * Opens the script's work folder and returns its descriptor, or a message that says what the script did to the folder.
 * Everything below is reached through the descriptor, so a link that the script swaps in leads nowhere.
 */
export function holdWorkFolder(workFolder: string): number | string {
  let fd: number | undefined;
  try {
    if (!lstatSync(workFolder).isDirectory()) return 'the work folder is no longer a folder';
    fd = openSync(workFolder, FOLDER_FLAGS);
    // Without /proc every file would seem missing, and the run would silently lose its output.
    if (statSync(below(fd, '.')).ino === fstatSync(fd).ino) return fd;
  } catch (cause) {
    if (fd !== undefined) closeSync(fd);
    // A missing folder is the machine's fault. A locked folder or a link is the script's.
    if (!isCode(cause, 'ENOENT')) {
      const doing = scriptFault(cause);
      if (doing) return `the work folder ${doing}`;
    }
    throw unreadable(cause);
  }
  closeSync(fd);
  throw unreadable(undefined);
}

/** The path of an entry in an open folder. `name` is a single segment, because only the last segment is untrusted. */
export function below(fd: number, name: string): string {
  return `/proc/self/fd/${fd}/${name}`;
}

/** Opens a folder. Fails if a link has replaced it. */
export const FOLDER_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Does not block if the file has become a FIFO or a device. */
export const FILE_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** What the script did to an entry that cannot be read; undefined if the machine is to blame. */
export function scriptFault(error: unknown): string | undefined {
  const code = systemCodeOf(error);
  return Object.hasOwn(DOINGS, code) ? DOINGS[code] : undefined;
}

const DOINGS: Record<string, string> = {
  ENOENT: 'disappeared while it was being read',
  ENOTDIR: 'is no longer a folder',
  EISDIR: 'is now a folder',
  ELOOP: 'is now a link',
  ENXIO: 'is now a FIFO or a socket',
  ENODEV: 'is now a device',
  ENOTCONN: 'is a mount whose program has exited',
  EACCES: 'is not readable',
  EPERM: 'is not readable',
};

/** Whether an entry is still the one that was checked, with the same content. */
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
  return systemCodeOf(error) === code;
}

/** The code of a system error. Empty for any other error, which is a bug. */
export function systemCodeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && 'syscall' in error ? String(error.code) : '';
}

function unreadable(cause: unknown): unknown {
  if (cause !== undefined && systemCodeOf(cause) === '') return cause;
  return new Fault('ingest_io', "The run's files could not be read.", { cause });
}

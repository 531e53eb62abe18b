import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, realpathSync, type Stats } from 'node:fs';
import path from 'node:path';

/**
 * The bytes of a regular file; undefined if it is missing, larger than `bytesMax`, a link, or not a regular file.
 * `isWanted` checks the opened file itself, so that replacing the file cannot bypass the check.
 */
export function readRegular(
  file: string,
  bytesMax: number,
  isWanted: (stat: Stats) => boolean = () => true,
): Buffer | undefined {
  try {
    return readOpen(openSync(file, FLAGS), bytesMax, isWanted);
  } catch {
    return undefined;
  }
}

/** Reads an open file, and closes it. */
function readOpen(fd: number, bytesMax: number, isWanted: (stat: Stats) => boolean = () => true): Buffer | undefined {
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size > bytesMax || !isWanted(stat)) return undefined;
    const bytes = Buffer.allocUnsafe(stat.size);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(fd, bytes, length, bytes.length - length, null);
    }
    return bytes.subarray(0, length);
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}

/** Opens a regular file for reading; undefined if it is missing, a link, or not a regular file. */
export function openRegular(file: string): number | undefined {
  try {
    const fd = openSync(file, FLAGS);
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
  } catch {
    // Treated as missing.
  }
  return undefined;
}

/** Opens a file below a folder without following links at any step. Throws system errors. */
export function openBelow(folder: string, file: string): { readonly fd: number; readonly stat: Stats } {
  const names = file.split('/');
  let held: number | undefined;
  try {
    for (const [index, name] of names.entries()) {
      const place = held === undefined ? path.join(folder, name) : below(held, folder, names.slice(0, index + 1));
      const next = openSync(place, index === names.length - 1 ? FLAGS : FOLDER_FLAGS);
      if (held !== undefined) closeSync(held);
      held = next;
    }
    const opened = { fd: held as number, stat: fstatSync(held as number) };
    held = undefined;
    return opened;
  } finally {
    if (held !== undefined) closeSync(held);
  }
}

/** The path of a name in an open folder. Without /proc, it checks that the folder is still the same. */
function below(held: number, folder: string, names: readonly string[]): string {
  if (process.platform === 'linux') return `/proc/self/fd/${held}/${names.at(-1) as string}`;
  const [there, here] = [lstatSync(path.join(folder, ...names.slice(0, -1))), fstatSync(held)];
  if (there.ino === here.ino && there.dev === here.dev) return path.join(folder, ...names);
  throw Object.assign(new Error('A folder was replaced.'), { code: 'ELOOP' });
}

/**
 * Opens a regular file below a folder without following links at any step; undefined if there is none. A folder from
 * elsewhere may contain a link to any folder of this machine.
 */
export function openRegularBelow(folder: string, file: string): number | undefined {
  try {
    const { fd, stat } = openBelow(folder, file);
    if (stat.isFile()) return fd;
    closeSync(fd);
  } catch {
    // Treated as missing.
  }
  return undefined;
}

/** The bytes of such a file; undefined if it is missing or larger than `bytesMax`. */
export function readBelow(folder: string, file: string, bytesMax: number): Buffer | undefined {
  const fd = openRegularBelow(folder, file);
  return fd === undefined ? undefined : readOpen(fd, bytesMax);
}

/** Resolves links in a path from the user. Returns a missing path unchanged, so that the reader reports it. */
export function followLink(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

const FOLDER_FLAGS = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);

/** Do not wait for a FIFO, and do not follow links. Windows has no such flags. */
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);

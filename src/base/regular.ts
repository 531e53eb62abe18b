import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, realpathSync, type Stats } from 'node:fs';
import path from 'node:path';

/**
 * The bytes of a regular file of at most `bytesMax`, or undefined: it is missing, larger, a link, or no file at all.
 * `isWanted` judges the very file that is read, which somebody may have put there a moment ago.
 */
export function readRegular(
  file: string,
  bytesMax: number,
  isWanted: (stat: Stats) => boolean = () => true,
): Buffer | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(file, FLAGS);
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
    if (fd !== undefined) closeSync(fd);
  }
}

/** A regular file, opened to be read; undefined if it is missing, a link, or no file at all. */
export function openRegular(file: string): number | undefined {
  try {
    const fd = openSync(file, FLAGS);
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
  } catch {
    // As good as missing.
  }
  return undefined;
}

/** A regular file below a folder, reached through no link at any step, and what it is. Throws what the system says. */
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

/** A name in a folder that is held open. Where there is no /proc, the path is looked at step by step instead. */
function below(held: number, folder: string, names: readonly string[]): string {
  if (process.platform === 'linux') return `/proc/self/fd/${held}/${names.at(-1) as string}`;
  const [there, here] = [lstatSync(path.join(folder, ...names.slice(0, -1))), fstatSync(held)];
  if (there.ino === here.ino && there.dev === here.dev) return path.join(folder, ...names);
  throw Object.assign(new Error('A folder was exchanged.'), { code: 'ELOOP' });
}

/** A file as whoever names it means it: a link that a person names means its target. What is not there is for the reader to say. */
export function followLink(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

const FOLDER_FLAGS = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);

/** A FIFO is not waited for, and a link not followed. Windows has no such flags. */
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);

import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, type Stats } from 'node:fs';

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

/** A file as whoever names it means it: a link that a person names means its target. What is not there is for the reader to say. */
export function meant(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

/** A FIFO is not waited for, and a link not followed. Windows has no such flags. */
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);

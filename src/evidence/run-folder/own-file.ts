import { closeSync, lstatSync, readdirSync, type Stats } from 'node:fs';
import path from 'node:path';
import { codeOf, Fault } from '../../base/fault.ts';
import { isMineOrRoots } from '../../base/owner.ts';
import { printable } from '../../base/printable.ts';
import { openBelow } from '../../base/regular.ts';

/**
 * Opens a file in a run folder to seal or pack it. Rejects files of other users and anything behind a link, because
 * Proctor must not sign files that it did not write.
 */
export function openOwn(folder: string, file: string): { readonly fd: number; readonly stat: Stats } {
  let opened: { readonly fd: number; readonly stat: Stats };
  try {
    opened = openBelow(folder, file);
  } catch (cause) {
    if (['ELOOP', 'ENOTDIR', 'ENXIO'].includes(codeOf(cause))) throw odd(file, 'is not a regular file', cause);
    throw cause;
  }
  const why = opened.stat.isFile()
    ? isMineOrRoots(opened.stat)
      ? undefined
      : 'belongs to another user'
    : 'is not a regular file';
  if (why === undefined) return opened;
  closeSync(opened.fd);
  throw odd(file, why);
}

/** Rejects a folder with entries of other users. You can verify such a folder, but not resume or recover it. */
export function refuseForeign(folder: string): void {
  const pending = [''];
  let count = 0;
  for (let below = pending.pop(); below !== undefined; below = pending.pop()) {
    for (const entry of readdirSync(path.join(folder, below), { withFileTypes: true })) {
      const file = below === '' ? entry.name : `${below}/${entry.name}`;
      const stat = lstatSync(path.join(folder, file), { throwIfNoEntry: false });
      if (++count > ENTRIES_MAX) throw odd(file, 'exceeds the limit of 1,000,000 entries');
      if (stat && !isMineOrRoots(stat)) throw odd(file, 'belongs to another user');
      if (stat?.isDirectory()) pending.push(file);
    }
  }
}

/**
 * Rejects a folder that contains anything but files and folders. A run leaves no links, and Proctor must not follow
 * one.
 */
export function refuseOdd(folder: string): void {
  const pending = [{ at: folder, depth: 0 }];
  let count = 0;
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { at, depth } = next;
    if (depth > DEPTH_MAX || !lstatSync(at).isDirectory()) throw oddFolder();
    for (const entry of readdirSync(at, { withFileTypes: true })) {
      if (++count > ENTRIES_MAX) throw oddFolder();
      if (entry.isDirectory()) pending.push({ at: path.join(at, entry.name), depth: depth + 1 });
      else if (!entry.isFile()) throw oddFolder();
    }
  }
}

export function oddFolder(): Fault {
  return new Fault('odd_folder', 'The run folder contains entries that no run creates. Proctor did not change it.');
}

const ENTRIES_MAX = 1_000_000;
const DEPTH_MAX = 100;

function odd(file: string, why: string, cause?: unknown): Fault {
  return new Fault('foreign_file', `${printable(file)} ${why}. Inspect the folder, and work on a copy that you own.`, {
    cause,
  });
}

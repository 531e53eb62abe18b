import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { codeOf } from './fault.ts';

/** Evidence belongs to its owner alone, whatever the umask would let through. */
export const OWN_FILE = 0o600;
export const OWN_FOLDER = 0o700;

/** The modes for a folder that a person may have named: what lies outside of `.proctor` follows the umask. */
export function modesIn(folder: string): { readonly file: number; readonly folder: number } {
  const isKept = path.resolve(folder).split(path.sep).includes('.proctor');
  return isKept ? { file: OWN_FILE, folder: OWN_FOLDER } : { file: 0o666, folder: 0o777 };
}

/**
 * Makes a folder and those above it, and returns the first that it made. Unlike `mkdirSync` with `recursive`, it ends where a
 * file system takes no new names, such as /proc: Node tries there for ever.
 */
export function makeFolders(folder: string, mode = OWN_FOLDER): string | undefined {
  const missing: string[] = [];
  for (let at = path.resolve(folder); !isThere(at); at = path.dirname(at)) missing.push(at);
  let first: string | undefined;
  for (const at of missing.reverse()) {
    try {
      mkdirSync(at, { mode });
      first ??= at;
    } catch (error) {
      // Somebody else may have made it meanwhile.
      if (codeOf(error) !== 'EEXIST' || !statSync(at, { throwIfNoEntry: false })?.isDirectory()) throw error;
    }
  }
  return first;
}

function isThere(folder: string): boolean {
  return folder === path.dirname(folder) || statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
}

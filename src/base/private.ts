import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { codeOf } from './fault.ts';

/** Only the owner can read evidence, regardless of the umask. */
export const OWN_FILE = 0o600;
export const OWN_FOLDER = 0o700;

/** The modes for files in a folder. Outside `.proctor` the umask decides. */
export function modesIn(folder: string): { readonly file: number; readonly folder: number } {
  const isKept = path.resolve(folder).split(path.sep).includes('.proctor');
  return isKept ? { file: OWN_FILE, folder: OWN_FOLDER } : { file: 0o666, folder: 0o777 };
}

/**
 * Creates a folder and its missing parents, and returns the first that it created. Unlike a recursive `mkdirSync`, which
 * loops forever there, it fails on file systems that accept no new names, such as /proc.
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
      // Another process may have created it in the meantime.
      if (codeOf(error) !== 'EEXIST' || !statSync(at, { throwIfNoEntry: false })?.isDirectory()) throw error;
    }
  }
  return first;
}

function isThere(folder: string): boolean {
  return folder === path.dirname(folder) || statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
}

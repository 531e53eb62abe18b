import { lstatSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from './fault.ts';
import { isMine, isMineOrRoots } from './owner.ts';
import { makeFolders } from './private.ts';
import { stateFolder } from './state-folder.ts';

/** The path of a folder in the state folder that only this user can read and write. Creates it if it is missing. */
export function ownFolder(name: string): string {
  const state = stateFolder();
  // Create nothing in an untrusted folder.
  makeClosed(state);
  if (isReplaceable(state)) throw open();
  const folder = path.join(state, name);
  makeClosed(folder);
  return folder;
}

function makeClosed(folder: string): void {
  try {
    makeFolders(folder);
  } catch (cause) {
    throw new Fault('state_folder', `Proctor cannot create its state folder. ${REMEDY}`, { cause });
  }
  const stat = lstatSync(folder);
  if (!stat.isDirectory() || !isMine(stat) || (stat.mode & 0o077) !== 0) throw open();
}

function open(): Fault {
  return new Fault('state_folder', `The state folder is a link, or is open to other users. ${REMEDY}`);
}

const REMEDY = 'Set XDG_STATE_HOME to a folder that only you can write to.';

/** Whether other users can replace the folder: they own its parent, or can write to it and it has no sticky bit. */
function isReplaceable(folder: string): boolean {
  const around = statSync(path.dirname(folder));
  const isOpen = (around.mode & 0o022) !== 0 && (around.mode & 0o1000) === 0;
  return isOpen || !isMineOrRoots(around);
}

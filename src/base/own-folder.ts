import { lstatSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from './fault.ts';
import { isMine, isMineOrRoots } from './owner.ts';
import { makeFolders } from './private.ts';
import { stateFolder } from './state-folder.ts';

/** A folder of that name in the state folder, made if it is missing. Only this user can read it or fill it. */
export function ownFolder(name: string): string {
  const state = stateFolder();
  // Nothing is made in a folder that cannot be trusted.
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
    throw new Fault('state_folder', `Proctor cannot make its state folder. ${REMEDY}`, { cause });
  }
  const stat = lstatSync(folder);
  if (!stat.isDirectory() || !isMine(stat) || (stat.mode & 0o077) !== 0) throw open();
}

function open(): Fault {
  return new Fault('state_folder', `The state folder is a link, or is open to other users. ${REMEDY}`);
}

const REMEDY = 'Set XDG_STATE_HOME to a folder that only you can write to.';

/** Whether other users could put another folder in its place: the one around it is theirs, or open and without sticky bit. */
function isReplaceable(folder: string): boolean {
  const around = statSync(path.dirname(folder));
  const isOpen = (around.mode & 0o022) !== 0 && (around.mode & 0o1000) === 0;
  return isOpen || !isMineOrRoots(around);
}

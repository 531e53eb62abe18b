import { lstatSync, mkdirSync, type Stats } from 'node:fs';
import path from 'node:path';
import { codeOf, Fault, fullDisk } from '../../base/fault.ts';
import { isMine } from '../../base/owner.ts';
import { OWN_FOLDER } from '../../base/private.ts';

/**
 * The path of the server's own folder in a Proctor home, or of a folder in it. Creates it if it is missing. Only this
 * user may read and write it: it decides who may use the server.
 */
export function serverFolder(home: string, ...names: readonly string[]): string {
  refuseShared(home);
  let folder = home;
  for (const name of [SERVER, ...names]) {
    folder = path.join(folder, name);
    makeClosed(folder);
  }
  return folder;
}

const SERVER = 'server';

/** Another user who can write to the home could replace the server's folder. */
function refuseShared(home: string): void {
  const stat = lstatSync(home, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) {
    throw new Fault('server_folder', 'The .proctor folder is missing or is a link. The server needs a real folder.');
  }
  if (!isMine(stat) || isWritableByOthers(stat)) {
    throw new Fault('server_folder', `Other users can change the .proctor folder. ${REMEDY}`);
  }
}

function makeClosed(folder: string): void {
  try {
    mkdirSync(folder, { mode: OWN_FOLDER });
  } catch (cause) {
    if (codeOf(cause) !== 'EEXIST')
      throw new Fault('server_folder', `The server's folder could not be created${fullDisk(cause)}.`, { cause });
  }
  const stat = lstatSync(folder);
  if (!stat.isDirectory()) {
    throw new Fault('server_folder', "The server's folder in .proctor is a link or a file. Remove it and start again.");
  }
  if (!isMine(stat) || isOpenToOthers(stat)) {
    throw new Fault('server_folder', `The server's folder is open to other users. ${REMEDY}`);
  }
}

const REMEDY = 'Make it yours alone with chmod 700 .proctor .proctor/server.';

function isWritableByOthers({ mode }: Stats): boolean {
  return process.platform !== 'win32' && (mode & 0o022) !== 0;
}

function isOpenToOthers({ mode }: Stats): boolean {
  return process.platform !== 'win32' && (mode & 0o077) !== 0;
}

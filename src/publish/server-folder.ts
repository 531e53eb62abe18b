import { lstatSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { isMine } from '../base/owner.ts';
import { makeFolders } from '../base/private.ts';

/** The folder of published scripts in a Proctor home. */
export function scriptsFolder(home: string): string {
  return path.join(home, 'server', 'scripts');
}

/** The folder of what the server knows about runs of published scripts: who ordered them, and their files. */
export function scriptRunsFolder(home: string): string {
  return path.join(home, 'server', 'script-runs');
}

/** Creates a folder below `.proctor/server`. Rejects a link and a folder that other users can write to. */
export function makeServerFolder(home: string, folder: string): void {
  try {
    makeFolders(folder);
  } catch (cause) {
    throw new Fault('server_folder', `The server's folder cannot be created. ${REMEDY}`, { cause });
  }
  for (let at = folder; at !== home && at !== path.dirname(at); at = path.dirname(at)) {
    const stat = lstatSync(at);
    if (!stat.isDirectory() || !isMine(stat) || (stat.mode & 0o022) !== 0)
      throw new Fault(
        'server_folder',
        `A folder below .proctor/server is a link, or is open to other users. ${REMEDY}`,
      );
  }
}

const REMEDY = 'Use a project folder that only you can write to.';

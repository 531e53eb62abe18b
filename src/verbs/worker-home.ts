import { readdirSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { bytesHash } from '../base/hash.ts';
import { makeHome, runsIn } from '../evidence/run-folder/runs.ts';
import { removeAbandoned } from '../execute/launcher/abandoned.ts';
import { type Lock, takeOwnLock } from '../execute/host/locks.ts';
import { completeDead, lifeOf } from './recover.ts';

/** A folder for the runs of one worker process, apart from the runs of the project. */
export interface WorkerHome {
  readonly folder: string;
  /** Removes the folder, unless a run in it could not be completed. */
  readonly close: () => Promise<void>;
}

/** Makes the folder of a worker, and removes those of workers that died, with what their sandboxes left behind. */
export async function openWorkerHome(projectHome: string, name: string, cwd: string): Promise<WorkerHome> {
  makeHome(projectHome);
  const within = path.join(projectHome, 'workers');
  const folder = path.join(within, name);
  makeHome(folder);
  const lock = lockOf(folder);
  if (!lock) throw new Fault('usage', 'A worker of this name already runs in this folder. Choose another --name.');
  for (const other of readdirSync(within)) {
    if (other !== name) await removeIfDead(path.join(within, other), cwd);
  }
  await removeAbandoned();
  return {
    folder,
    async close() {
      rmSync(folder, { recursive: true, force: true });
      lock.close();
    },
  };
}

/** A worker holds the lock of its folder for as long as it lives. */
function lockOf(folder: string): Lock | undefined {
  return takeOwnLock(`worker-${bytesHash(realpathSync(folder)).slice(-16)}`);
}

async function removeIfDead(folder: string, cwd: string): Promise<void> {
  const lock = lockOf(folder);
  if (!lock) return;
  try {
    // The attempts are lost, and the queue knows it. Only what their sandboxes left on the machine matters.
    for (const place of runsIn(folder))
      if (lifeOf(place) === 'dead') await completeDead(place, { cwd }).catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  } finally {
    lock.close();
  }
}

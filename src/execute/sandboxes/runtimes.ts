import type { Job, Mount } from '../job/job.ts';
import { installationOf, installationsOf, isMachines } from '../host/installation.ts';
import { closureOf, RUNNING_NODE } from '../host/programs.ts';
import { isOpenToAll, reachable } from './mounts.ts';
import { uidFor } from './users.ts';

/** The paths outside of the machine's own folders that a job's programs need. The sandbox shows them read-only. */
export function runtimesOf({ programs, runtimes = [] }: Pick<Job, 'programs' | 'runtimes'>): string[] {
  if (programs) return RUNNING_NODE ? closureOf(programs).files.filter(file => !isMachines(file)) : [];
  const all = [...new Set([...nodeHere(), ...runtimes.flatMap(installationsOf)])];
  return all.filter(place => !all.some(other => place.startsWith(`${other}/`)));
}

/** The running Node. Another user who cannot read it gets a copy of the program alone: its folder may be large. */
function nodeHere(): string[] {
  if (!RUNNING_NODE) return [];
  const folder = installationOf(RUNNING_NODE);
  return [uidFor(0) === undefined || isOpenToAll(folder) ? folder : RUNNING_NODE];
}

/** The mounts for them. */
export function runtimeMounts(job: Job): Promise<Mount[]> {
  const mounts = runtimesOf(job).map(place => ({ source: place, target: place }));
  return reachable(mounts, job.stage, 'runtimes');
}

import type { Job, Mount } from '../job/job.ts';
import { installationOf, installationsOf, isMachines } from '../host/installation.ts';
import { closureOf, RUNNING_NODE } from '../host/programs.ts';
import { isOpenToAll, reachable } from './mounts.ts';
import { uidFor } from './users.ts';

/** The paths outside of the machine's own folders that a job's programs need. The sandbox shows them read-only. */
export function runtimesOf({ programs, runtimes = [] }: Pick<Job, 'programs' | 'runtimes'>): string[] {
  if (programs) return closureOf(programs).files.filter(file => !isMachines(file));
  const places = [...(RUNNING_NODE ? [installationOf(RUNNING_NODE)] : []), ...runtimes.flatMap(installationsOf)];
  const all = [...new Set(places)];
  return all.filter(place => !all.some(other => place.startsWith(`${other}/`)));
}

/** The mounts for them. Another user may not be able to read them, and then gets a copy. */
export async function runtimeMounts(job: Job): Promise<Mount[]> {
  const isAnother = uidFor(0) !== undefined;
  const places = runtimesOf(job).map(place => {
    // Node needs only its program. Its folder may contain many packages.
    const isTooMuch = RUNNING_NODE?.startsWith(`${place}/`) && isAnother && !isOpenToAll(place);
    return isTooMuch ? RUNNING_NODE : place;
  });
  const mounts = places.map(place => ({ source: place as string, target: place as string }));
  return reachable(mounts, job.stage, 'runtimes');
}

import path from 'node:path';
import { type Cgroup, findCgroups } from '../cgroups/cgroups.ts';
import { writeFileOf } from '../cgroups/folders.ts';
import { cgroupMounts } from '../cgroups/mounts.ts';
import { ownName } from '../host/processes.ts';

export interface StartedInGroup<Program> {
  readonly program: Program;
  /** Undefined on machines that allow no groups. */
  readonly cgroup: Cgroup | undefined;
}

/**
 * Starts a program in a control group of its own. A child process starts in the group of its parent, so this process
 * joins the group, starts the program and returns to its own group. Moving the program later would miss what it started
 * before. `start` must not throw.
 */
export async function startInGroup<Program>(start: () => Program): Promise<StartedInGroup<Program>> {
  const cgroup = await openGroup();
  if (cgroup === undefined) return { program: start(), cgroup };
  const own = await ownFolders(cgroup);
  try {
    await cgroup.join(process.pid);
  } catch {
    await goBack(own);
    await cgroup.close().catch(() => undefined);
    return { program: start(), cgroup: undefined };
  }
  try {
    return { program: start(), cgroup };
  } finally {
    await goBack(own);
  }
}

/** Named after this process, so that a later cleanup knows whether its owner is dead: see launcher/abandoned.ts. */
async function openGroup(): Promise<Cgroup | undefined> {
  const cgroups = await findCgroups();
  if (cgroups.version === 'none') return undefined;
  return cgroups.open(`${ownName()}-1`).catch(() => undefined);
}

/** The current groups of this process in the hierarchies of another group. */
async function ownFolders({ folders }: Cgroup): Promise<string[]> {
  const { v1, v2 } = await cgroupMounts();
  const mounts = [...Object.values(v1), ...(v2 ? [v2] : [])];
  return mounts.filter(({ folder }) => folders.some(other => isBelow(other, folder))).map(({ own }) => own);
}

const isBelow = (file: string, folder: string): boolean => file.startsWith(path.join(folder, '/'));

/**
 * If a move fails, this process stays in the group, which `removeCgroups` then leaves alone: the other means to find
 * processes still apply.
 */
async function goBack(own: readonly string[]): Promise<void> {
  await Promise.allSettled(own.map(folder => writeFileOf(folder, 'cgroup.procs', String(process.pid))));
}

import { setTimeout as wait } from 'node:timers/promises';
import { removeCgroups } from '../cgroups/cgroups.ts';
import type { Leftovers } from '../job/job.ts';
import { isAlive, processesMarked, signal, startTicksOf } from '../host/processes.ts';
import { removeStage } from '../host/workspace.ts';

/** Kills what an unsandboxed run left running. For sandboxed runs, see abandoned.ts. */
export async function sweepBare(runId: string): Promise<void> {
  await endAll(() => processesMarked(`PROCTOR_RUN=${runId}`));
}

/** Removes what a dead launcher left behind on this machine. */
export async function sweep({ stage, cgroups, processes, marker }: Leftovers): Promise<void> {
  const left = (): number[] => [
    ...processes.filter(({ pid, startTicks }) => startTicksOf(pid) === startTicks).map(({ pid }) => pid),
    ...(marker === undefined ? [] : processesMarked(marker)),
  ];
  await endAll(left);
  await removeCgroups(cgroups);
  removeStage(stage);
}

async function endAll(left: () => number[]): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const pids = left().filter(isAlive);
    if (pids.length === 0) break;
    for (const pid of pids) signal(pid, 'SIGKILL');
    await wait(10);
  }
}

/** About two seconds. */
const ROUNDS_MAX = 200;

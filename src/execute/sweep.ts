import { setTimeout as wait } from 'node:timers/promises';
import { removeCgroups } from './cgroup.ts';
import type { Leftovers } from './job.ts';
import { isAlive, processesMarked, signal, startTicksOf } from './processes.ts';
import { removeStage } from './workspace.ts';

/** Ends what a bare run may have left running. What a sandbox left is found by its own name, see abandoned.ts. */
export async function sweepBare(runId: string): Promise<void> {
  await endAll(() => processesMarked(`PROCTOR_RUN=${runId}`));
}

/** Takes away what a launcher that has died may have left on this machine. Does nothing where nothing is left. */
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

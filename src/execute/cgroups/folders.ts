import { constants, readFileSync } from 'node:fs';
import { rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, Fault } from '../../base/fault.ts';
import { signal } from '../host/processes.ts';

/** The processes in the given groups. A process may be in groups of several hierarchies. */
export async function processesInGroups(folders: readonly string[]): Promise<number[]> {
  const lists = await Promise.all(folders.map(folder => readFileOf(folder, 'cgroup.procs')));
  const pids = lists.flatMap(list => (list ?? '').split('\n').filter(Boolean).map(Number));
  return [...new Set(pids)].sort((a, b) => a - b);
}

/** Resolves when no process is left. */
export async function killIn(folders: readonly string[]): Promise<void> {
  for (let round = 0; round < KILL_ROUNDS; round++) {
    const pids = await processesInGroups(folders);
    if (pids.length === 0 && !(await isPopulated(folders))) return;
    // `cgroup.kill` misses no process, not even one that is just being created. Version 1 does not have it.
    const told = await Promise.all(folders.map(folder => tryWrite(folder, 'cgroup.kill', '1')));
    for (const pid of pids) signal(pid, 'SIGKILL');
    // If processes fork faster than Proctor kills them, forbid new ones. Not in the first round, because denied forks
    // count as reaching the limit.
    if (round === 1 && !told.includes(true)) {
      await Promise.all(folders.map(folder => tryWrite(folder, 'pids.max', '0')));
    }
    await sleep(Math.min(2 ** round, WAIT_MS_MAX));
  }
  throw new Fault('processes_left', "Some of the run's processes could not be killed.");
}

/** Removes empty groups. A group stays busy for some milliseconds after its last process has ended. */
export async function removeFolders(folders: readonly string[]): Promise<void> {
  await Promise.all(folders.map(removeFolder));
}

async function removeFolder(folder: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await rmdir(folder);
    } catch (cause) {
      if (codeOf(cause) === 'ENOENT') return;
      if (codeOf(cause) !== 'EBUSY' || attempt >= REMOVE_ATTEMPTS) {
        throw new Fault('cgroup_left', "One of the run's control groups could not be removed.", { cause });
      }
    }
    await sleep(Math.min(2 ** attempt, WAIT_MS_MAX));
  }
}

/** About three seconds to kill and one second to remove. */
const KILL_ROUNDS = 64;
const REMOVE_ATTEMPTS = 24;
const WAIT_MS_MAX = 50;

/** Only version 2 reports this. The answer covers child groups too. */
async function isPopulated(folders: readonly string[]): Promise<boolean> {
  const events = await Promise.all(folders.map(folder => readFileOf(folder, 'cgroup.events')));
  return events.some(text => text !== undefined && fieldOf(text, 'populated') === 1);
}

/** The contents of a group file, if the kernel provides it. Synchronous, because the kernel answers in microseconds. */
export async function readFileOf(folder: string, name: string): Promise<string | undefined> {
  try {
    return readFileSync(path.join(folder, name), 'utf8');
  } catch {
    return undefined;
  }
}

/** Never creates a file. A missing file is an error (ENOENT). */
export async function writeFileOf(folder: string, name: string, text: string): Promise<void> {
  await writeFile(path.join(folder, name), text, { flag: constants.O_WRONLY | constants.O_TRUNC });
}

async function tryWrite(folder: string, name: string, text: string): Promise<boolean> {
  try {
    await writeFileOf(folder, name, text);
    return true;
  } catch {
    return false;
  }
}

/** Reads a number from lines such as `oom_kill 3`. */
export function fieldOf(text: string, name: string): number | undefined {
  const line = text.split('\n').find(line => line.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}

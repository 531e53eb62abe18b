import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { processesIn, statIn } from './proc-files.ts';

/** The start time of a process in ticks since boot. Pid and start time together identify a process. */
export function startTicksOf(pid: number): number | undefined {
  const ticks = statOf(pid)[19];
  return ticks === undefined ? undefined : Number(ticks);
}

const statOf = (pid: number): string[] => statIn('/proc', pid) ?? [];

/** False for a zombie. */
export function isAlive(pid: number): boolean {
  const [state = 'X'] = statOf(pid);
  return !isOver(state);
}

function isOver(state: string): boolean {
  return /^[ZX]/.test(state);
}

/** A name for this process that is never reused: pid namespace, pid and start time. */
export function ownName(): string {
  return nameOf(process.pid);
}

/**
 * Whether the process of that name is dead. Returns false for another pid namespace, because its pids are unknown here.
 */
export function isDead(name: string): boolean {
  const [space, pid, began] = name.split('.');
  if (space !== pidSpace()) return false;
  const { [0]: state = 'X', [19]: ticks } = statOf(Number(pid));
  return ticks !== began || isOver(state);
}

/** Matches the name of a process inside a file name. */
export const NAME = /\d+\.\d+\.\d+/;

function nameOf(pid: number): string {
  return `${pidSpace()}.${pid}.${startTicksOf(pid) ?? 0}`;
}

/** The inode of the pid namespace. Containers have their own. */
function pidSpace(): string {
  ownSpace ??= spaceOfPids();
  return ownSpace;
}

let ownSpace: string | undefined;

function spaceOfPids(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0';
  } catch {
    return '0';
  }
}

/** All descendants of a process. Orphans that were re-parented elsewhere are not included. */
export function descendantsOf(pid: number): number[] {
  const found: number[] = [];
  const pending = [pid];
  for (let next = pending.pop(); next !== undefined && found.length < PROCESSES_MAX; next = pending.pop()) {
    for (const child of childrenOf(next)) {
      found.push(child);
      pending.push(child);
    }
  }
  return found;
}

const PROCESSES_MAX = 100_000;

export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap(thread =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

/** All processes with that variable in their environment, wherever they are in the process tree. */
export function processesMarked(marker: string): number[] {
  const mark = Buffer.from(marker);
  return processesIn('/proc').filter(pid => {
    try {
      return readFileSync(`/proc/${pid}/environ`).includes(mark);
    } catch {
      return false;
    }
  });
}

export function processesInGroup(group: number): number[] {
  return processesIn('/proc').filter(pid => Number(statOf(pid)[2]) === group);
}

/** Sends a signal and ignores a process that no longer exists. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {}
}

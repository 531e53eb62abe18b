import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** When a process began, in ticks since boot; undefined if there is none with that pid. With the pid it names a process for good. */
export function startTicksOf(pid: number): number | undefined {
  const ticks = statOf(pid)[19];
  return ticks === undefined ? undefined : Number(ticks);
}

/** What the kernel says of a process, from its state on; nothing if there is none. */
function statOf(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold anything, also parentheses.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

/** Whether a process is there and not merely waiting to be reaped. */
export function isAlive(pid: number): boolean {
  const [state = 'X'] = statOf(pid);
  return !isOver(state);
}

function isOver(state: string): boolean {
  return /^[ZX]/.test(state);
}

/** This process by a name that no other has or will have: where pids count, its pid, and when it began. */
export function ownName(): string {
  return nameOf(process.pid);
}

/** Whether the process of such a name is dead. Of one that counts pids otherwise, nothing is known. */
export function isDead(name: string): boolean {
  const [space, pid, began] = name.split('.');
  if (space !== pidSpace()) return false;
  const { [0]: state = 'X', [19]: ticks } = statOf(Number(pid));
  return ticks !== began || isOver(state);
}

/** What a name looks like, for who finds it in one of a file. */
export const NAME = /\d+\.\d+\.\d+/;

function nameOf(pid: number): string {
  return `${pidSpace()}.${pid}.${startTicksOf(pid) ?? 0}`;
}

/** The number of the pid namespace; in a container it is another one. */
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

/** Everything that descends from a process and still has a parent in that line. */
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

/** Every process that has a variable in its environment, however far it has run from its parents. */
export function processesMarked(marker: string): number[] {
  const mark = Buffer.from(marker);
  return processesHere().filter(pid => {
    try {
      return readFileSync(`/proc/${pid}/environ`).includes(mark);
    } catch {
      return false;
    }
  });
}

/** Every process of a process group. */
export function processesInGroup(group: number): number[] {
  return processesHere().filter(pid => Number(statOf(pid)[2]) === group);
}

function processesHere(): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number);
}

/** Sends a signal, and does not mind if nobody is there to get it. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It is dead, which is what signals are mostly for.
  }
}

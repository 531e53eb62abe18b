import { readlinkSync } from 'node:fs';
import path from 'node:path';
import type { LeftRunning } from '../contracts/capture.ts';
import { textOf } from './proc-files.ts';
import { childrenOf, descendantsOf, isAlive } from './processes.ts';

/** What a program has started and not ended yet, given the first process of its namespace. */
export function startedIn(init: number, isForwarded: boolean): LeftRunning {
  // The program is the first that its namespace ever had. Behind a door, it is the only one that the forwarder has.
  const [first] = childrenOf(init);
  const program = first !== undefined && isForwarded ? childrenOf(first)[0] : undefined;
  return programsOf(descendantsOf(init).filter(pid => pid !== first && pid !== program));
}

/** What some processes run. Their names are for others to mask: a program chooses its own. */
export function programsOf(pids: readonly number[]): LeftRunning {
  const alive = pids.filter(isAlive);
  const names = new Set<string>();
  for (const pid of alive) {
    names.add(programOf(pid));
    if (names.size === PROGRAMS_MAX) break;
  }
  return { processes: alive.length, programs: [...names].sort() };
}

/** The file that it runs. Only the name that a process gives itself is known of one that we may not look at. */
function programOf(pid: number): string {
  const name = fileOf(pid) ?? textOf(`/proc/${pid}/comm`)?.trim();
  return name?.toWellFormed().slice(0, NAME_UNITS_MAX) || 'unknown';
}

function fileOf(pid: number): string | undefined {
  try {
    return path.basename(readlinkSync(`/proc/${pid}/exe`)).replace(/ \(deleted\)$/, '');
  } catch {
    return undefined;
  }
}

const PROGRAMS_MAX = 20;
const NAME_UNITS_MAX = 64;

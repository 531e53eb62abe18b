import { readlinkSync } from 'node:fs';
import path from 'node:path';
import type { LeftRunning } from '../../contracts/capture.ts';
import { procText } from '../host/proc-files.ts';
import { childrenOf, descendantsOf, isAlive } from '../host/processes.ts';

/** The processes that a program has started. `init` is the first process of its pid namespace. */
export function startedIn(init: number, isForwarded: boolean): LeftRunning {
  // The program is the first child of `init`. With a proxy, that is the forwarder, and the program is its only child.
  const [first] = childrenOf(init);
  const program = first !== undefined && isForwarded ? childrenOf(first)[0] : undefined;
  return programsOf(descendantsOf(init).filter(pid => pid !== first && pid !== program));
}

/** Names the programs that processes run. The caller masks the names, because a program can choose its own. */
export function programsOf(pids: readonly number[]): LeftRunning {
  const alive = pids.filter(isAlive);
  const names = new Set<string>();
  for (const pid of alive) {
    names.add(programOf(pid));
    if (names.size === PROGRAMS_MAX) break;
  }
  return { processes: alive.length, programs: [...names].sort() };
}

/** The executable file. Falls back to the name that the process gave itself if the file is not readable. */
function programOf(pid: number): string {
  const name = fileOf(pid) ?? procText(`/proc/${pid}/comm`)?.trim();
  // The cut can split a surrogate pair.
  return name?.slice(0, NAME_UNITS_MAX).toWellFormed() || 'unknown';
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

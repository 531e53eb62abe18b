import { readlinkSync } from 'node:fs';
import path from 'node:path';
import type { LeftRunning } from '../contracts/capture.ts';
import { textOf } from './proc-files.ts';
import { isAlive } from './processes.ts';

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

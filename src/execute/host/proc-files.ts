import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import path from 'node:path';

/** The CPU time of one process, in ticks. The kernel reuses pids; a pid and a start time identify a process. */
export interface ProcessTimes {
  readonly pid: number;
  readonly parent: number;
  readonly startTicks: number;
  readonly ownTicks: number;
  /** CPU time of terminated children that it has waited for, including their children. */
  readonly childTicks: number;
}

/** All processes in a mounted /proc, numbered by its pid namespace. */
export function processesIn(proc: string): number[] {
  return readdirSync(proc)
    .filter(name => /^\d+$/.test(name))
    .map(Number);
}

export function timesOf(proc: string, pid: number): ProcessTimes | undefined {
  const fields = statIn(proc, pid);
  if (fields === undefined) return undefined;
  const at = (index: number): number => Number(fields[index] ?? 0);
  return { pid, parent: at(1), startTicks: at(19), ownTicks: at(11) + at(12), childTicks: at(13) + at(14) };
}

/** The fields of a stat file after the name of the process. */
export function statIn(proc: string, pid: number): string[] | undefined {
  const stat = procText(path.join(proc, String(pid), 'stat'));
  // The name is in parentheses and may itself contain parentheses.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Sums lines such as `RssAnon:   1234 kB`, in bytes. */
export function kilobytesIn(text: string, names: readonly string[]): number {
  let bytes = 0;
  for (const name of names) {
    const start = text.indexOf(`\n${name}:`);
    if (start !== -1) bytes += Number.parseInt(text.slice(start + name.length + 2), 10) * 1024;
  }
  return bytes;
}

export function procText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** The first lines of a file that can be very long, and whether that is the whole file. */
export function firstLinesOf(file: string, bytesMax: number): { readonly lines: string[]; readonly isAll: boolean } {
  let fd: number | undefined;
  try {
    fd = openSync(file, 'r');
    const bytes = Buffer.alloc(bytesMax);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(fd, bytes, length, bytes.length - length, null);
    }
    const lines = bytes.toString('latin1', 0, length).split('\n');
    // The part after the last line feed is empty or incomplete.
    return { lines: lines.slice(0, -1), isAll: length < bytesMax };
  } catch {
    return { lines: [], isAll: true };
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

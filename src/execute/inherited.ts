import { closeSync, readdirSync, readFileSync } from 'node:fs';

/**
 * Closes every file that whoever started this process left open in it. Node itself marks its own files, and the first
 * few that it inherits, as not to be handed on; any other would be there in each program that is started, and an open
 * folder of the machine is a way out of any sandbox.
 */
export function closeInherited(): void {
  for (const name of openFiles()) {
    const fd = Number(name);
    if (fd > 2 && isHandedOn(name)) closeSync(fd);
  }
}

function openFiles(): string[] {
  try {
    return readdirSync('/proc/self/fd');
  } catch {
    return [];
  }
}

function isHandedOn(fd: string): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // Closed by now: it was the one that we read the list through.
    return false;
  }
}

const CLOSE_ON_EXEC = 0o2000000;

import { closeSync, readdirSync, readFileSync } from 'node:fs';

/**
 * Closes every file that this process inherited. Node sets close-on-exec only on its own files and on the first few
 * inherited ones. Child processes would inherit the others, and an open folder on this machine is a way out of any
 * sandbox.
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
    // Already closed: it was the descriptor of the listing itself.
    return false;
  }
}

const CLOSE_ON_EXEC = 0o2000000;

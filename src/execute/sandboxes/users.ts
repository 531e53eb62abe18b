import { readFileSync } from 'node:fs';
import { RUN_UIDS } from '../workspace.ts';

/**
 * As root, every run is another user, one that the machine has not given to anybody: real uid 0 owns files and switches
 * of the kernel that no namespace takes from it.
 */
export function uidFor(count: number): number | undefined {
  return isRoot() ? RUN_UIDS.first + ((process.pid * 61 + count) % RUN_UIDS.count) : undefined;
}

/** Root of the machine: who is root only in a namespace of users has no others to become, and need not. */
function isRoot(): boolean {
  if (process.getuid?.() !== 0) return false;
  const maps = readFileSync('/proc/self/uid_map', 'utf8').split('\n');
  return maps.some(map => {
    const [first = 1, , count = 0] = map.trim().split(/ +/).map(Number);
    return first <= RUN_UIDS.first && RUN_UIDS.first + RUN_UIDS.count <= first + count;
  });
}

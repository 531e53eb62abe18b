import { readFileSync } from 'node:fs';
import { RUN_UIDS } from '../host/workspace.ts';

/**
 * When Proctor runs as root, every run gets a different uid that belongs to no user of the machine. The real uid 0 owns
 * files and kernel settings that no namespace protects.
 */
export function uidFor(count: number): number | undefined {
  return isRoot() ? RUN_UIDS.first + ((process.pid * 61 + count) % RUN_UIDS.count) : undefined;
}

/** Whether this is the machine's root user. Root in a user namespace has no other uids to use, and needs none. */
function isRoot(): boolean {
  if (process.getuid?.() !== 0) return false;
  const maps = readFileSync('/proc/self/uid_map', 'utf8').split('\n');
  return maps.some(map => {
    const [first = 1, , count = 0] = map.trim().split(/ +/).map(Number);
    return first <= RUN_UIDS.first && RUN_UIDS.first + RUN_UIDS.count <= first + count;
  });
}

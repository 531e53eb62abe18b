import { statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';

/** How many more agents fit on this machine now: each needs a share of the free memory and of the temporary disk. */
export function roomForAgents(): number {
  return Math.floor(Math.min(freeMemory() / MEMORY_EACH, freeDisk() / DISK_EACH));
}

const GIB = 1024 ** 3;
/** An agent and its tests rarely need more. Their limit is higher, but not all reach it at once. */
const MEMORY_EACH = GIB;
const DISK_EACH = GIB;

/** Also respects a control group around this process. */
function freeMemory(): number {
  return Math.min(freemem(), process.availableMemory());
}

/** Unknown counts as enough. If the disk fills up, the run that fills it fails with a message. */
function freeDisk(): number {
  try {
    const { bavail, bsize } = statfsSync(tmpdir());
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

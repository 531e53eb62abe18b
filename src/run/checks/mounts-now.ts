import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { inside } from '../../contracts/agent-step/paths.ts';
import type { CheckResult } from '../../contracts/check-result/index.ts';
import { folderDigest } from '../../execute/worktree/mount-digest.ts';
import type { ReadyCheck } from './order.ts';
import type { ChecksPlace } from './run-checks.ts';

/** The mounts of a check. Small ones are hashed again, because the user may change them while the agent works. */
export async function mountsNow({
  mounts,
  mountNotes,
  mask,
}: Pick<ChecksPlace, 'mounts' | 'mountNotes' | 'mask'>): Promise<NonNullable<CheckResult['mounts']>> {
  const seen: NonNullable<CheckResult['mounts']> = [];
  for (const [index, { path: at, sha256, entries, bytes }] of mountNotes.entries()) {
    const source = mounts[index]?.source;
    const rehashed = entries <= REHASHED.entries && bytes <= REHASHED.bytes && source !== undefined;
    if (rehashed && (await hashOf(source)) !== sha256)
      throw new Fault(
        'mount_changed',
        `The mounted folder ${printable(at)} changed after the agent started. Run the agent again.`,
      );
    seen.push({ path: mask(at), sha256, rehashed });
  }
  return seen;
}

/** Hashing this much takes about a fifth of a second. */
const REHASHED = { entries: 10_000, bytes: 64 * 1024 * 1024 } as const;

async function hashOf(source: string): Promise<string | undefined> {
  try {
    return (await folderDigest(source, { ...REHASHED })).sha256;
  } catch {
    // The folder is now too large, or contains files that cannot be mounted.
    return undefined;
  }
}

/** Refuses hidden files and reports that a mount would cover. `mounts` are relative to the tree. */
export function refuseCovered(checks: readonly ReadyCheck[], mounts: readonly string[], startIn: string): void {
  if (mounts.length === 0) return;
  const isCovered = inside(mounts);
  for (const { name, overlay, report } of checks) {
    const files = [...(overlay?.files.keys() ?? []), ...(report === undefined ? [] : [report])];
    const covered = files.find(at => {
      const place = path.posix.join(startIn, at);
      return isCovered(place) || mounts.some(mount => `${mount}/`.startsWith(`${place}/`));
    });
    if (covered !== undefined)
      throw new Fault(
        'usage',
        `The check ${name} needs ${printable(covered)}, but a mount covers it. Choose another path for the file or the mount.`,
      );
  }
}

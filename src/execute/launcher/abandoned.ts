import { type Dirent, mkdtempSync, renameSync, rmdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { removeCgroups } from '../cgroups/cgroups.ts';
import { PREFIX } from '../cgroups/group.ts';
import { cgroupMounts } from '../cgroups/mounts.ts';
import { isAlive, isDead, NAME } from '../host/processes.ts';
import { isAbandoned, isStageOfOurs, removeStage, stagePath } from '../host/workspace.ts';

/** Removes what dead Proctor processes left behind and did not record in a journal. */
export async function removeAbandoned(): Promise<void> {
  for (const { name } of await entriesOf(tmpdir())) {
    if (!isAbandoned(name)) continue;
    try {
      removeFound(path.join(tmpdir(), name));
    } catch {
      // It belongs to another user, or another process has removed it. The others must still be removed.
    }
  }
  await removeGroups();
}

/**
 * Removes a stage from the shared temporary folder. Root first moves it to a private folder and checks it again there:
 * another user may have replaced it with a symlink or a folder.
 */
function removeFound(stage: string): void {
  if (process.getuid?.() !== 0) return removeStage(stage);
  if (!isStageOfOurs(stage)) return;
  const apart = mkdtempSync(stagePath('apart-'));
  const moved = path.join(apart, path.basename(stage));
  try {
    renameSync(stage, moved);
    if (isStageOfOurs(moved)) removeStage(moved);
    else renameSync(moved, stage);
  } finally {
    // If the stage could not be removed or moved back, this fails and the stage is kept.
    rmdirSync(apart);
  }
}

/** Waits until a launcher is dead, then removes what it left behind. */
export async function removeAfter(launcher: number): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX && isAlive(launcher); round++) await wait(10);
  await removeAbandoned();
}

/** About two seconds. A process closes its channel before it is dead. */
const ROUNDS_MAX = 200;

/** Removes the control groups of dead launchers, and kills the processes in them. */
async function removeGroups(): Promise<void> {
  const { v1, v2 } = await cgroupMounts();
  const tops = new Set([...Object.values(v1), ...(v2 ? [v2] : [])].map(({ folder }) => folder));
  for (const top of tops) await removeCgroups(await groupsBelow(top));
}

/** A launcher creates its groups below its own, which may differ from the group of this process. */
async function groupsBelow(top: string): Promise<string[]> {
  const found: string[] = [];
  const pending = [top];
  for (let looked = 0; pending.length > 0 && looked < GROUPS_MAX; looked++) {
    const folder = pending.pop() as string;
    for (const { name } of (await entriesOf(folder)).filter(entry => entry.isDirectory())) {
      const launcher = GROUP.exec(name)?.[1];
      if (launcher === undefined) pending.push(path.join(folder, name));
      else if (isDead(launcher)) found.push(path.join(folder, name));
    }
  }
  return found;
}

const GROUPS_MAX = 10_000;
const GROUP = new RegExp(`^${PREFIX}(?:probe-)?(${NAME.source})-\\d+$`);

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

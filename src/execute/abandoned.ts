import { type Dirent, mkdtempSync, renameSync, rmdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { removeCgroups } from './cgroup.ts';
import { PREFIX } from './cgroup-group.ts';
import { cgroupMounts } from './cgroup-mounts.ts';
import { isAlive, isDead, NAME } from './processes.ts';
import { isAbandoned, isStageOfOurs, removeStage, stagePath } from './workspace.ts';

/** Takes away what was left by processes of ours that died before they could write down what they had made. */
export async function removeAbandoned(): Promise<void> {
  for (const { name } of await entriesOf(tmpdir())) {
    if (!isAbandoned(name)) continue;
    try {
      removeFound(path.join(tmpdir(), name));
    } catch {
      // It is another user's, or somebody else has removed it. One that stays must not keep the others.
    }
  }
  await removeGroups();
}

/**
 * Removes a stage that was found among the temporary files of everybody. Root moves it first to where nobody else can
 * reach it, and looks at it there: what had the name of a stage may by now be a link, or another user's trap.
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
    // Only if nothing is left in it.
    rmdirSync(apart);
  }
}

/** The same, once a launcher that has just died is quite dead. */
export async function removeAfter(launcher: number): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX && isAlive(launcher); round++) await wait(10);
  await removeAbandoned();
}

/** About two seconds. A process closes its line before it is dead. */
const ROUNDS_MAX = 200;

/** The control groups of dead launchers, and whoever is still in them. */
async function removeGroups(): Promise<void> {
  const { v1, v2 } = await cgroupMounts();
  const tops = new Set([...Object.values(v1), ...(v2 ? [v2] : [])].map(({ folder }) => folder));
  for (const top of tops) await removeCgroups(await groupsBelow(top));
}

/** A launcher makes its groups below the one that it is in, which is not always the one that we are in. */
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

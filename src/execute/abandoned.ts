import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { removeCgroups } from './cgroup.ts';
import { PREFIX } from './cgroup-group.ts';
import { cgroupMounts } from './cgroup-mounts.ts';
import { isAlive, isDead, NAME } from './processes.ts';
import { isAbandoned, removeStage } from './workspace.ts';

/** Takes away what was left by processes of ours that died before they could write down what they had made. */
export async function removeAbandoned(): Promise<void> {
  for (const { name } of await entriesOf(tmpdir())) if (isAbandoned(name)) removeStage(path.join(tmpdir(), name));
  await removeGroups();
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

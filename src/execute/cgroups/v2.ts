import { constants } from 'node:fs';
import { access, mkdir, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { codeOf } from '../../base/fault.ts';
import { processesInGroups, readFileOf, writeFileOf } from './folders.ts';
import { OWN_LEAF } from './group.ts';
import type { CgroupMount } from './mounts.ts';
import { descendantsOf } from '../host/processes.ts';

/**
 * Finds a folder in the unified hierarchy below which Proctor may create groups with limits. The parent must contain no
 * processes, and the user must own that part of the tree.
 */
export async function findParent(
  mount: CgroupMount,
  isRoot: boolean,
): Promise<{ parent: string } | { reason: string }> {
  if (!hasBoth(await readFileOf(mount.folder, 'cgroup.controllers'))) {
    return { reason: 'The unified cgroup hierarchy has no memory and pids controllers.' };
  }
  if (isRoot) {
    const parent = path.join(mount.folder, 'proctor');
    if (await isMadeAtTop(mount.folder, parent)) return { parent };
  }
  let reason: string | undefined;
  for (const folder of upFrom(mount)) {
    const trouble = await prepare(folder);
    if (trouble === undefined) return { parent: folder };
    reason ??= trouble;
  }
  return { reason: reason ?? NOT_OURS };
}

async function isMadeAtTop(top: string, parent: string): Promise<boolean> {
  try {
    await enable(top);
    await mkdir(parent).catch(ignoreExisting);
    await enable(parent);
    return true;
  } catch {
    return false;
  }
}

/** The group of this process and its ancestors, nearest first. */
function upFrom({ folder, own }: CgroupMount): string[] {
  const folders: string[] = [];
  for (let at = own; at.length >= folder.length; at = path.dirname(at)) {
    // An earlier call moved this process here, after preparing the parent.
    if (path.basename(at) !== OWN_LEAF) folders.push(at);
    if (at === folder) break;
  }
  return folders;
}

/** Prepares a group to be a parent. Returns the reason if that fails. */
async function prepare(folder: string): Promise<string | undefined> {
  if (!hasBoth(await readFileOf(folder, 'cgroup.controllers')))
    return 'This user has no delegated control groups with memory and pids controllers.';
  try {
    for (const name of ['.', 'cgroup.procs', 'cgroup.subtree_control']) {
      await access(path.join(folder, name), constants.W_OK);
    }
  } catch {
    return NOT_OURS;
  }
  if (hasBoth(await readFileOf(folder, 'cgroup.subtree_control'))) {
    await enableCpu(folder);
    return undefined;
  }
  // Only the root of the hierarchy has no type, and only it may have both processes and child groups with limits.
  const isTop = (await readFileOf(folder, 'cgroup.type')) === undefined;
  const inside = isTop ? [] : await processesInGroups([folder]);
  const ours = new Set([process.pid, ...descendantsOf(process.pid)]);
  if (!inside.every(pid => ours.has(pid))) {
    return 'The control group of this process contains unrelated processes, so it cannot have child groups with limits.';
  }
  try {
    if (inside.length > 0) await moveTo(path.join(folder, OWN_LEAF), inside);
    await enable(folder);
    return undefined;
  } catch {
    await moveBack(folder, inside);
    return 'The kernel does not let this process create child groups with limits.';
  }
}

async function moveTo(leaf: string, pids: readonly number[]): Promise<void> {
  await mkdir(leaf).catch(ignoreExisting);
  for (const pid of pids) {
    await writeFileOf(leaf, 'cgroup.procs', String(pid)).catch((error: unknown) => {
      if (codeOf(error) !== 'ESRCH') throw error;
    });
  }
}

async function moveBack(folder: string, pids: readonly number[]): Promise<void> {
  await Promise.allSettled(pids.map(pid => writeFileOf(folder, 'cgroup.procs', String(pid))));
  await rmdir(path.join(folder, OWN_LEAF)).catch(() => undefined);
}

async function enable(folder: string): Promise<void> {
  if (!hasBoth(await readFileOf(folder, 'cgroup.subtree_control'))) {
    await writeFileOf(folder, 'cgroup.subtree_control', '+memory +pids');
  }
  await enableCpu(folder);
}

/** Only `--cpus` needs this controller, so its absence affects nothing else. */
async function enableCpu(folder: string): Promise<void> {
  const [offered = '', enabled = ''] = await Promise.all(
    ['cgroup.controllers', 'cgroup.subtree_control'].map(name => readFileOf(folder, name)),
  );
  if (!HAS_CPU.test(offered) || HAS_CPU.test(enabled)) return;
  await writeFileOf(folder, 'cgroup.subtree_control', '+memory +pids +cpu').catch(() => undefined);
}

const HAS_CPU = /\bcpu\b/;

const hasBoth = (controllers: string | undefined): boolean =>
  controllers !== undefined && /\bmemory\b/.test(controllers) && /\bpids\b/.test(controllers);

function ignoreExisting(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw error;
}

const NOT_OURS = 'This user is not permitted to create control groups.';

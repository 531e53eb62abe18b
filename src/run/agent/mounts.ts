import { appendFileSync, lstatSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { unsafePath } from '../../base/path.ts';
import { printable } from '../../base/printable.ts';
import type { MountNote } from '../../contracts/agent-step/mounts.ts';
import type { Mount } from '../../execute/job/job.ts';
import type { Clone } from '../../execute/worktree/clone.ts';
import { folderDigest, MOUNT_LIMITS } from '../../execute/worktree/mount-digest.ts';
import { isGitName } from '../../execute/worktree/tree.ts';
import { isProctors } from '../../policy/active-changes.ts';
import type { AgentOrder } from './order.ts';

/** A folder that the agent can read but not change, such as `node_modules`. */
export interface MountRequest {
  /** The folder on this machine. */
  readonly dir: string;
  /**
   * Where the agent sees it: a path in its folder, or an absolute path below `/agent/mounts/`. By default the same path
   * as here, if `dir` is inside the agent's folder; otherwise `/agent/mounts/` and its name.
   */
  readonly path?: string;
}

/** The same mount, with its folder resolved against another. */
export function mountBelow({ dir, path: at }: MountRequest, folder: string): MountRequest {
  return { dir: path.resolve(folder, dir), ...(at !== undefined && { path: at }) };
}

export interface AgentMounts {
  readonly mounts: readonly Mount[];
  /** Paths in the work tree, relative to its top. */
  readonly inTree: readonly string[];
  readonly notes: readonly MountNote[];
}

/** Hashes the folders, and creates their mount points in the clone. The agent's git ignores them. */
export async function agentMounts(order: AgentOrder, clone: Clone): Promise<AgentMounts> {
  const wanted = plannedMounts(order, clone.startIn);
  const left: { entries: number; bytes: number } = { ...MOUNT_LIMITS };
  const notes: MountNote[] = [];
  for (const { source, target } of wanted) {
    const digest = await folderDigest(source, left);
    left.entries -= digest.entries;
    left.bytes -= digest.bytes;
    notes.push({ path: target.slice(1), ...digest });
  }
  const inTree = wanted.flatMap(({ target }) => (target.startsWith(WORK) ? [target.slice(WORK.length)] : []));
  for (const at of inTree) makeMountPoint(clone.tree, at);
  if (inTree.length > 0) exclude(clone.tree, inTree);
  return { mounts: wanted, inTree, notes };
}

/** The source and target of each mount. Refuses mounts that overlap or whose target is not allowed. */
export function plannedMounts(order: Pick<AgentOrder, 'mounts' | 'cwd' | 'dir'>, startIn: string): Mount[] {
  const wanted = (order.mounts ?? []).map(request => placed(request, order, startIn));
  if (wanted.length > MOUNTS_MAX) throw new Fault('usage', `A run may have at most ${MOUNTS_MAX} mounts.`);
  refuseOverlaps(wanted);
  return wanted;
}

const MOUNTS_MAX = 20;
const WORK = '/work/';
const ELSEWHERE = '/agent/mounts/';

function placed({ dir, path: at }: MountRequest, order: Pick<AgentOrder, 'cwd' | 'dir'>, startIn: string): Mount {
  const source = folderAt(path.resolve(order.cwd, dir), dir);
  if (at?.startsWith('/')) {
    if (!at.startsWith(ELSEWHERE) || unsafePath(at.slice(1)) !== undefined)
      throw new Fault(
        'usage',
        `"${printable(at)}" is not a path below ${ELSEWHERE}, where mounts outside the folder go.`,
      );
    return { source, target: path.posix.normalize(at) };
  }
  const below =
    at ?? (order.dir === undefined ? undefined : insideOf(realpathSync(order.dir), path.resolve(order.cwd, dir)));
  if (below === undefined) return { source, target: `${ELSEWHERE}${path.basename(source)}` };
  const trouble = unsafePath(below);
  if (trouble) throw new Fault('usage', `"${printable(below)}" is not a path below the folder: it ${trouble}.`);
  const inTree = path.posix.join(startIn, below);
  if (inTree === '.' || inTree.split('/').some(isGitName) || isProctors(inTree))
    throw new Fault('usage', `Nothing can be mounted at ${printable(below)}. Choose another path: --mount DIR:PATH.`);
  return { source, target: `${WORK}${inTree}` };
}

function folderAt(place: string, named: string): string {
  if (!statSync(place, { throwIfNoEntry: false })?.isDirectory())
    throw new Fault('usage', `Cannot mount ${printable(path.basename(named))}: it does not exist or is not a folder.`);
  return realpathSync(place);
}

/** The path of a folder relative to another that contains it. Its last name may be a symlink. */
function insideOf(folder: string, place: string): string | undefined {
  const below = path.relative(folder, path.join(realpathSync(path.dirname(place)), path.basename(place)));
  return below === '' || below === '..' || below.startsWith('../') || path.isAbsolute(below) ? undefined : below;
}

function refuseOverlaps(wanted: readonly Mount[]): void {
  const twice = wanted.find(({ target }, index) =>
    wanted.some((other, at) => at !== index && isIn(target, other.target)),
  );
  if (twice)
    throw new Fault(
      'usage',
      `Mounts must not overlap, but ${printable(path.posix.basename(twice.target))} is inside another one. Choose another path.`,
    );
}

function isIn(one: string, other: string): boolean {
  return `${one}/`.startsWith(`${other}/`);
}

/** A mount point must not hide files of the commit, and must not be reached through a symlink. */
function makeMountPoint(tree: string, below: string): void {
  const names = below.split('/');
  for (const [index] of names.entries()) {
    const at = path.join(tree, ...names.slice(0, index + 1));
    const stat = lstatSync(at, { throwIfNoEntry: false });
    if (!stat) mkdirSync(at);
    else if (!stat.isDirectory())
      throw new Fault(
        'usage',
        `Nothing can be mounted at ${printable(below)}: the commit has a file or symlink there. Choose another path.`,
      );
    else if (index === names.length - 1 && readdirSync(at).length > 0)
      throw new Fault(
        'usage',
        `Nothing can be mounted at ${printable(below)}: the commit has files there. Choose another path.`,
      );
  }
}

/** Otherwise `git add --all` in the clone would commit what is mounted. */
function exclude(tree: string, paths: readonly string[]): void {
  const info = path.join(tree, '.git', 'info');
  mkdirSync(info, { recursive: true });
  const lines = paths.map(at => `/${at.replace(/[\\*?[\]!# ]/g, '\\$&')}\n`);
  appendFileSync(path.join(info, 'exclude'), lines.join(''));
}

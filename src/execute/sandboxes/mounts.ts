import {
  accessSync,
  constants,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  stat,
  type Stats,
  statSync,
} from 'node:fs';
import { cp } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import type { Job, Mount } from '../job/job.ts';
import { isReachable } from '../host/readable.ts';
import { DOOR, HOME } from './root.ts';
import { uidFor } from './users.ts';

/**
 * Makes every mount source readable for the sandbox. If Proctor runs as root, the run has another user, who cannot read
 * a private home folder. Sources that it cannot read are copied into the stage.
 */
export async function reachable(mounts: readonly Mount[], stage: string, copies = 'mounts'): Promise<Mount[]> {
  const isAnother = uidFor(0) !== undefined;
  const reached: Mount[] = [];
  for (const [index, mount] of mounts.entries()) {
    const source = realOf(mount);
    reached.push({
      ...mount,
      source:
        isAnother && !isOpenToAll(source)
          ? await copied(source, mount, path.join(stage, copies, String(index)))
          : source,
    });
  }
  return reached;
}

/**
 * Whether every user can reach and read the source. For a folder, only its direct entries are checked. Hidden entries
 * are ignored: in node_modules they are caches, and one of them would cause a copy of all packages.
 */
export function isOpenToAll(source: string): boolean {
  const stat = statSync(source);
  if (!isReachable(source) || !isOpenItself(stat)) return false;
  if (!stat.isDirectory()) return true;
  const shown = readdirSync(source).filter(name => !name.startsWith('.'));
  return shown.every(name => {
    const entry = lstatSync(path.join(source, name));
    return entry.isSymbolicLink() || isOpenItself(entry);
  });
}

function isOpenItself(stat: Stats): boolean {
  const isEntered = stat.isDirectory() || (stat.mode & OWNER_RUNS) !== 0;
  const needed = OTHERS.read | (isEntered ? OTHERS.enter : 0);
  return (stat.mode & needed) === needed;
}

const OTHERS = { read: 0o004, enter: 0o001 } as const;
const OWNER_RUNS = 0o100;

/** Never a hard link, because changing the copy's owner would also change the original's. */
async function copied(source: string, { hides = [] }: Mount, target: string): Promise<string> {
  const hidden = new Set(hides.map(name => path.join(source, name)));
  let entries = 0;
  let bytes = 0;
  // Node 20 can miss that its threads are done with a file. The next operation tells it.
  const waking = setInterval(() => stat(source, () => undefined), WAKE_MS);
  try {
    mkdirSync(path.dirname(target), { recursive: true });
    await cp(source, target, {
      recursive: true,
      verbatimSymlinks: true,
      // Shares blocks with the original if the file system supports it.
      mode: constants.COPYFILE_FICLONE,
      filter: file => {
        if (hidden.has(file)) return false;
        const found = lstatSync(file);
        entries++;
        bytes += found.isFile() ? found.size : 0;
        if (entries > COPY_ENTRIES_MAX || bytes > COPY_BYTES_MAX) throw new Error('too large to copy');
        return found.isFile() || found.isDirectory() || found.isSymbolicLink();
      },
    });
    for (const name of hides) mkdirSync(path.join(target, name), { recursive: true });
    return target;
  } catch (cause) {
    throw new Fault('mount_failed', `${path.basename(source)} could not be copied for the sandbox.`, { cause });
  } finally {
    clearInterval(waking);
  }
}

const WAKE_MS = 1_000;

const COPY_ENTRIES_MAX = 1_000_000;
const COPY_BYTES_MAX = 8 * 1024 ** 3;

/** Checks everything that a job needs except its work folder. `isAnother`: the program runs as another user. */
export function checkExtras(job: Job, isAnother: boolean): void {
  const { mounts = [], door, home, stdin, stage, network, writeRoots } = job;
  if (stdin !== undefined) checkStdin(stage, stdin);
  if (home && !writeRoots) throw new Fault('stage_failed', 'In the process sandbox, a home requires write roots.');
  // Abstract Unix sockets belong to the network namespace, which would then be the machine's.
  if (door && network === 'open')
    throw new Fault('not_enforceable', 'In the process sandbox, the model proxy requires a blocked network.');
  if (door && !statSync(path.join(stage, 'door', 'model.sock'), { throwIfNoEntry: false })?.isSocket())
    throw new Fault('stage_failed', 'The model proxy is not running.');
  for (const mount of mounts) checkTarget(mount.target, mounts);
  for (const mount of mounts) {
    const source = realOf(mount);
    if (isAnother && !source.startsWith(`${realpathSync(stage)}/`) && !isOpenToAll(source))
      throw new Fault('mount_failed', `The sandbox cannot read ${path.basename(mount.target)}.`);
  }
}

export function checkStdin(stage: string, name: string): void {
  const isName = name !== '' && path.basename(name) === name && !['.', '..'].includes(name) && !name.includes('\0');
  if (!isName || !lstatSync(path.join(stage, name), { throwIfNoEntry: false })?.isFile())
    throw new Fault('stage_failed', "The program's input is not a file in its stage.");
}

function checkTarget(target: string, mounts: readonly Mount[]): void {
  const names = target.split('/').slice(1);
  const isBelow =
    /^\/(?:agent|work)\//.test(target) && names.every(name => !['', '.', '..'].includes(name) && !name.includes('\0'));
  const others = [HOME, DOOR, ...mounts.map(other => other.target)];
  const isAlone = others.filter(other => isIn(target, other) || isIn(other, target)).length === 1;
  if (!isBelow || !isAlone)
    throw new Fault('mount_failed', "The sandbox's mounts must be below /agent or /work and must not overlap.");
}

function isIn(file: string, folder: string): boolean {
  return `${file}/`.startsWith(`${folder}/`);
}

/** The real path of a source, if it is readable. */
function realOf({ source, target }: Mount): string {
  try {
    if (!path.isAbsolute(source)) throw new Error('not absolute');
    const real = realpathSync(source);
    accessSync(real, constants.R_OK);
    return real;
  } catch (cause) {
    throw new Fault(
      'mount_failed',
      `${path.basename(target)} does not exist or is not readable, so it cannot be mounted in the sandbox.`,
      { cause },
    );
  }
}

import { accessSync, constants, lstatSync, mkdirSync, readdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import type { Job, Mount } from './job.ts';
import { DOOR, HOME } from './sandboxes/root.ts';
import { uidFor } from './sandboxes/users.ts';

/**
 * The same mounts, such that the sandbox can get to every source: as root its user is another, for whom a home of
 * somebody is closed. What it cannot reach is copied into the stage, which will be its own.
 */
export async function reachable(mounts: readonly Mount[], stage: string): Promise<Mount[]> {
  const isAnother = uidFor(0) !== undefined;
  const reached: Mount[] = [];
  for (const [index, mount] of mounts.entries()) {
    const source = realOf(mount);
    reached.push({ ...mount, source: isAnother && !isOpen(source) ? await copied(source, stage, index) : source });
  }
  return reached;
}

/**
 * Whether everybody can get there and read it. Of a folder, its own entries stand for all that is in them, but for hidden
 * ones: in a folder of packages those are caches of other programs, and for one of them all packages would be copied.
 */
function isOpen(source: string): boolean {
  for (let folder = path.dirname(source); ; folder = path.dirname(folder)) {
    if ((statSync(folder).mode & OTHERS.enter) === 0) return false;
    if (folder === path.dirname(folder)) break;
  }
  const stat = statSync(source);
  if (!isOpenItself(stat)) return false;
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

/** Never by a link: the stage changes owner, and with it everything that lies in it. */
async function copied(source: string, stage: string, index: number): Promise<string> {
  const target = path.join(stage, 'mounts', String(index));
  let entries = 0;
  let bytes = 0;
  try {
    mkdirSync(path.dirname(target), { recursive: true });
    await cp(source, target, {
      recursive: true,
      verbatimSymlinks: true,
      // Where the disk can, the copy shares its blocks with the original.
      mode: constants.COPYFILE_FICLONE,
      filter: file => {
        const stat = lstatSync(file);
        entries++;
        bytes += stat.isFile() ? stat.size : 0;
        if (entries > COPY_ENTRIES_MAX || bytes > COPY_BYTES_MAX) throw new Error('too much to be copied');
        return stat.isFile() || stat.isDirectory() || stat.isSymbolicLink();
      },
    });
    return target;
  } catch (cause) {
    throw new Fault('mount_failed', `${path.basename(source)} could not be copied for the sandbox.`, { cause });
  }
}

const COPY_ENTRIES_MAX = 1_000_000;
const COPY_BYTES_MAX = 8 * 1024 ** 3;

/** Doubts what a job asks for besides its work folder, before anything is made. `isAnother`: the program is another user. */
export function checkExtras(job: Job, isAnother: boolean): void {
  const { mounts = [], door, home, stdin, stage, network, writeRoots } = job;
  if (stdin !== undefined) checkStdin(stage, stdin);
  if (home && !writeRoots)
    throw new Fault('stage_failed', 'The process sandbox gives a home only to a program with places to write to.');
  // Sockets without a file belong to the network, which then is that of the machine.
  if (door && network === 'open')
    throw new Fault('not_enforceable', 'The process sandbox has no door where the network is open.');
  if (door && !statSync(path.join(stage, 'door', 'model.sock'), { throwIfNoEntry: false })?.isSocket())
    throw new Fault('stage_failed', 'Nobody listens behind the door of the sandbox.');
  for (const mount of mounts) checkTarget(mount.target, mounts);
  for (const mount of mounts) {
    const source = realOf(mount);
    if (isAnother && !source.startsWith(`${realpathSync(stage)}/`) && !isOpen(source))
      throw new Fault('mount_failed', `${path.basename(mount.target)} cannot be reached from the sandbox.`);
  }
}

/** The input of a program is a file that lies in the stage itself. */
export function checkStdin(stage: string, name: string): void {
  const isName = name !== '' && path.basename(name) === name && !['.', '..'].includes(name) && !name.includes('\0');
  if (!isName || !lstatSync(path.join(stage, name), { throwIfNoEntry: false })?.isFile())
    throw new Fault('stage_failed', 'The input of the program is no file of its stage.');
}

function checkTarget(target: string, mounts: readonly Mount[]): void {
  const names = target.split('/').slice(1);
  const isBelow =
    target.startsWith('/agent/') && names.every(name => !['', '.', '..'].includes(name) && !name.includes('\0'));
  const others = [HOME, DOOR, ...mounts.map(other => other.target)];
  const isAlone = others.filter(other => isIn(target, other) || isIn(other, target)).length === 1;
  if (!isBelow || !isAlone)
    throw new Fault('mount_failed', 'A mount of the sandbox has no place of its own below /agent.');
}

function isIn(file: string, folder: string): boolean {
  return `${file}/`.startsWith(`${folder}/`);
}

/** What a source is when all links are followed, if it is there for us. */
function realOf({ source, target }: Mount): string {
  try {
    if (!path.isAbsolute(source)) throw new Error('not absolute');
    const real = realpathSync(source);
    accessSync(real, constants.R_OK);
    return real;
  } catch (cause) {
    throw new Fault('mount_failed', `${path.basename(target)} is not there to be shown in the sandbox.`, { cause });
  }
}

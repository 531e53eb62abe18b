import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import type { Job, Mount } from '../job/job.ts';
import { isMachines } from '../host/installation.ts';
import { closureOf } from '../host/programs.ts';
import { ETC_FD } from './descriptors.ts';
import { etcFor, NAMES_OF_HOSTS } from './etc.ts';
import { procFor } from './proc.ts';
import { TERMINALS } from './shares.ts';

/**
 * The bubblewrap arguments for a job. The root contains only what the program needs and is read-only, except for the
 * work folder, /tmp and /dev/shm.
 *
 * `disk` is where the holder has mounted the work folder's file system; `runtimes` are installations outside of the
 * machine's folders.
 */
export function rootFor(job: Job, disk: string, runtimes: readonly Mount[] = []): string[] {
  const { stage, network, programs } = job;
  const options: readonly (readonly string[])[] = [
    // No new IPC namespace: the holder has already created one and limited it.
    ['--unshare-user', '--unshare-pid', '--unshare-uts', '--unshare-cgroup-try'],
    network === 'open' ? [] : ['--unshare-net'],
    ['--disable-userns', '--new-session'],
    // Proctor examines the processes that a guarded program leaves running before it kills them. They always die with
    // the holder.
    job.guarded ? [] : ['--die-with-parent'],
    ['--uid', '1000', '--gid', '1000', '--hostname', 'sandbox'],
    programs ? only(programs) : everything(),
    network === 'open' ? NAMES_OF_HOSTS.flatMap(file => ['--ro-bind-try', file, file]) : [],
    etcFor(job).flatMap(({ name }) => ['--perms', '0444', '--file', String(ETC_FD[name]), `/etc/${name}`]),
    // Without a size, each of these may use half of the machine's memory.
    ['--dev', '/dev', '--size', SHM_BYTES, '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    TERMINALS.flatMap(folder => ['--dev-bind', folder, folder]),
    procFor(job),
    ['--ro-bind', path.join(stage, 'opt'), '/opt/proctor'],
    workFolder(job, disk),
    // After /tmp, because one of them may be below it.
    runtimes.flatMap(({ source, target }) => ['--ro-bind', source, target]),
    programs ? linksOf(programs) : [],
    ofAgent(job, disk),
    ['--cap-drop', 'ALL', '--clearenv'],
    Object.entries(job.env).flatMap(([name, value]) => ['--setenv', name, value]),
    ['--remount-ro', '/', '--chdir', path.posix.resolve('/work', job.startIn ?? '.')],
  ];
  return options.flat();
}

/**
 * The work folder and /tmp. If only some paths are writable, the rest of the work folder is part of the read-only root.
 */
function workFolder(job: Job, disk: string): string[] {
  const { stage, staged, writeRoots, readOnly = [] } = job;
  const laidOut = staged.flatMap(name => ['--ro-bind', path.join(stage, 'work', name), `/work/${name}`]);
  if (!writeRoots)
    return [
      '--size',
      String(tmpBytesOf(job)),
      '--tmpfs',
      '/tmp',
      '--bind',
      disk,
      '/work',
      '--dir',
      '/work/output',
      ...laidOut,
    ];
  // A job's later programs see what earlier ones left in /tmp.
  const tmp = ['--bind', `${disk}/tmp`, '/tmp'];
  // One mount for everything: each mount takes bubblewrap time, and a repository may have thousands of entries.
  if (writeRoots.length === 0) return [...tmp, '--ro-bind', path.join(stage, 'work'), '/work'];
  const { everywhere, roots } = writableIn(writeRoots, staged);
  return [
    ...tmp,
    ...(everywhere ? ['--bind', `${disk}/output`, '/work'] : ['--dir', '/work']),
    ...laidOut,
    ...roots.flatMap(root => ['--bind', `${disk}/output/${root}`, `/work/${root}`]),
    ...readOnly.flatMap(below => ['--ro-bind', `${disk}/output/${below}`, `/work/${below}`]),
  ];
}

/** The parts that only agents need: a home, mounts and the model proxy's socket. */
function ofAgent({ stage, home, mounts = [], door }: Job, disk: string): string[] {
  return [
    ...(home ? ['--bind', `${disk}/home`, HOME] : []),
    ...mounts.flatMap(shown),
    ...(door ? ['--ro-bind', path.join(stage, 'door'), DOOR] : []),
  ];
}

function shown({ source, target, hides = [] }: Mount): string[] {
  const hidden = hides.map(name => path.posix.join(target, name));
  const emptied = hidden.flatMap(folder => ['--size', PAGE_BYTES, '--tmpfs', folder, '--remount-ro', folder]);
  return ['--ro-bind', source, target, ...emptied];
}

const PAGE_BYTES = '4096';

/** Paths inside the sandbox. */
export const HOME = '/agent/home';
export const DOOR = '/agent/door';

/**
 * The mounts that make the roots writable. A root inside another root needs none, unless a read-only staged entry is
 * between them.
 */
export function writableIn(
  writeRoots: readonly string[],
  staged: readonly string[],
): { readonly everywhere: boolean; readonly roots: readonly string[] } {
  const everywhere = writeRoots.includes('.');
  const roots = writeRoots
    .filter(root => root !== '.')
    .filter(root => !writeRoots.some(other => root.startsWith(`${other}/`)))
    .filter(root => !everywhere || staged.includes(root.split('/')[0] as string));
  return { everywhere, roots: [...new Set(roots)] };
}

const SHM_BYTES = String(16 * 1024 * 1024);
/**
 * The size of /tmp, which counts as memory. Agents' tools store output there, so for agents it is half of their memory
 * limit. A full /tmp then makes a write fail instead of ending the run.
 */
export function tmpBytesOf({ guarded, limits: { memoryBytes } }: Pick<Job, 'guarded' | 'limits'>): number {
  return guarded && memoryBytes !== undefined ? Math.floor(memoryBytes / 2) : TMP_BYTES;
}

const TMP_BYTES = 64 * 1024 * 1024;

/** All of the machine's programs, but not its settings, users and homes. */
function everything(): string[] {
  const optional = ['/etc/ld.so.cache', '/etc/alternatives', '/nix/store'];
  return [
    '--ro-bind',
    '/usr',
    '/usr',
    ...['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].flatMap(sameAsHere),
    ...optional.flatMap(place => ['--ro-bind-try', place, place]),
  ];
}

/** On most systems these are symlinks into /usr, on some they are folders. */
function sameAsHere(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return lstatSync(folder).isSymbolicLink()
    ? ['--symlink', readlinkSync(folder), folder]
    : ['--ro-bind', folder, folder];
}

/** The given programs and what they load. Nothing else exists. */
function only(programs: readonly string[]): string[] {
  return closureOf(programs)
    .files.filter(isMachines)
    .flatMap(file => ['--ro-bind', file, file]);
}

function linksOf(programs: readonly string[]): string[] {
  return closureOf(programs).links.flatMap(({ target, link }) => ['--symlink', target, link]);
}

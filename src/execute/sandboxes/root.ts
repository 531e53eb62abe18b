import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import type { Job } from '../job.ts';
import { closureOf } from '../programs.ts';
import { ETC_FD } from './descriptors.ts';
import { etcFor, NAMES_OF_HOSTS } from './etc.ts';
import { procFor } from './proc.ts';
import { TERMINALS } from './shares.ts';

/**
 * The arguments of bubblewrap for a job: a root made of nothing but what the program needs, everything in it read-only
 * but the work folder and two small temporary ones.
 *
 * `disk` is where the holder of the namespaces has mounted the sized file system that becomes the work folder.
 */
export function rootFor(job: Job, disk: string): string[] {
  const { stage, network, programs } = job;
  const options: readonly (readonly string[])[] = [
    // All but that of System V memory, which the holder has made and bounded.
    ['--unshare-user', '--unshare-pid', '--unshare-uts', '--unshare-cgroup-try'],
    network === 'open' ? [] : ['--unshare-net'],
    ['--disable-userns', '--new-session'],
    // What a guarded program leaves running is looked at before it is ended. All of it dies with the holder in any case.
    job.guarded ? [] : ['--die-with-parent'],
    ['--uid', '1000', '--gid', '1000', '--hostname', 'sandbox'],
    programs ? only(programs) : everything(),
    network === 'open' ? NAMES_OF_HOSTS.flatMap(file => ['--ro-bind-try', file, file]) : [],
    etcFor(job).flatMap(({ name }) => ['--perms', '0444', '--file', String(ETC_FD[name]), `/etc/${name}`]),
    // Without a size, each of these may take half of the machine's memory.
    ['--dev', '/dev', '--size', SHM_BYTES, '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    TERMINALS.flatMap(folder => ['--dev-bind', folder, folder]),
    procFor(job),
    ['--ro-bind', path.join(stage, 'opt'), '/opt/proctor'],
    workFolder(job, disk),
    ofAgent(job, disk),
    ['--cap-drop', 'ALL', '--clearenv'],
    Object.entries(job.env).flatMap(([name, value]) => ['--setenv', name, value]),
    ['--remount-ro', '/', '--chdir', path.posix.join('/work', job.startIn ?? '.')],
  ];
  return options.flat();
}

/** The work folder and the temporary one. Where only some places are writable, the rest of it is a part of the root. */
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
  // Several programs in a row find there what the one before them left.
  const tmp = ['--bind', `${disk}/tmp`, '/tmp'];
  // One mount for all: bubblewrap takes longer for each, and a repository may have thousands of names.
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

/** What only agents have: a home, what was brought along for them, and a door to whoever answers. */
function ofAgent({ stage, home, mounts = [], door }: Job, disk: string): string[] {
  return [
    ...(home ? ['--bind', `${disk}/home`, HOME] : []),
    ...mounts.flatMap(({ source, target }) => ['--ro-bind', source, target]),
    ...(door ? ['--ro-bind', path.join(stage, 'door'), DOOR] : []),
  ];
}

/** Inside. */
export const HOME = '/agent/home';
export const DOOR = '/agent/door';

/**
 * What has to be mounted so that a program can write to its roots: one that lies in another is there with it, unless
 * something that was laid out read-only lies between them.
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
 * How much fits into /tmp, which lies beside the work folder and counts as memory. The tools of agents keep their output
 * there: those get half of their memory, so that a full /tmp is an error of the one who writes and not the end of the run.
 */
export function tmpBytesOf({ guarded, limits: { memoryBytes } }: Pick<Job, 'guarded' | 'limits'>): number {
  return guarded && memoryBytes !== undefined ? Math.floor(memoryBytes / 2) : TMP_BYTES;
}

const TMP_BYTES = 64 * 1024 * 1024;

/** All programs of the machine. Its own settings, users and homes are not among them. */
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

/** A folder that most systems have as a link to its namesake in /usr, and some as a folder. */
function sameAsHere(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return lstatSync(folder).isSymbolicLink()
    ? ['--symlink', readlinkSync(folder), folder]
    : ['--ro-bind', folder, folder];
}

/** These programs, and what they load; nothing else exists. */
function only(programs: readonly string[]): string[] {
  const { files, links } = closureOf(programs);
  return [
    ...files.flatMap(file => ['--ro-bind', file, file]),
    ...links.flatMap(({ target, link }) => ['--symlink', target, link]),
  ];
}

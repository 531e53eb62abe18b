import { existsSync, readFileSync } from 'node:fs';

/**
 * The lines for the shell of a holder that bound what a run takes of what the kernel counts for each user or for all
 * sandboxes together: an eighth, so that other runs and the user's own programs go on.
 *
 * The kernel counts inotify for each namespace of users and for those around it, and the holder is root of one. `isShared`:
 * the run is the same user as others, whose pending signals and message queues it would use up.
 */
export function boundShares(isShared: boolean): string[] {
  const watches = ['instances', 'watches'].map(
    what =>
      `echo ${eighthOf(`/proc/sys/fs/inotify/max_user_${what}`, /(\d+)/)} > /proc/sys/user/max_inotify_${what} 2>/dev/null`,
  );
  const signals = eighthOf('/proc/self/limits', /^Max pending signals +(\d+)/m);
  const queues = eighthOf('/proc/self/limits', /^Max msgqueue size +(\d+)/m);
  return [
    ...watches,
    ...(isShared
      ? [`/usr/bin/prlimit --pid $$ --sigpending=${signals}:${signals} --msgqueue=${queues}:${queues} 2>/dev/null`]
      : []),
    // If this fails, the terminals of the machine would be shown in their place.
    ...TERMINALS.map(folder => `mount -t devpts -o ${TERMINAL_OPTIONS} devpts ${folder} || exit 1`),
  ];
}

/** Where a holder has the pseudo terminals of its run. Otherwise one run can take all that the sandboxes of a machine share. */
export const TERMINALS: readonly string[] = ['/dev/pts'].filter(existsSync);
const TERMINAL_OPTIONS = 'newinstance,nosuid,noexec,ptmxmode=0666,mode=620,max=64';

/** Of a number that the kernel tells; of one that it does not, of 128, the smallest that it ever had. */
function eighthOf(file: string, pattern: RegExp): number {
  const [, number = 128] = (existsSync(file) && pattern.exec(readFileSync(file, 'utf8'))) || [];
  return Math.max(1, Math.floor(Number(number) / 8));
}

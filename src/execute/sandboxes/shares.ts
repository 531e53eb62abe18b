import { existsSync, readFileSync } from 'node:fs';

/**
 * Shell commands that limit a run to an eighth of each resource that the kernel counts per user or across all sandboxes.
 * Other runs and the user's own programs can use the rest.
 *
 * The kernel counts inotify per user namespace, and the holder is root of one. If `isShared`, the run has the same user
 * as other programs, so its pending signals and message queues are limited too.
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
    // Without this mount, the machine's terminals would be visible in the sandbox.
    ...TERMINALS.map(folder => `mount -t devpts -o ${TERMINAL_OPTIONS} devpts ${folder} || exit 1`),
  ];
}

/** Each holder mounts a separate set of pseudoterminals. Otherwise one run could exhaust those of all sandboxes. */
export const TERMINALS: readonly string[] = ['/dev/pts'].filter(existsSync);
const TERMINAL_OPTIONS = 'newinstance,nosuid,noexec,ptmxmode=0666,mode=620,max=64';

/** An eighth of a kernel limit. If it is unreadable, an eighth of 128, the smallest default of any kernel. */
function eighthOf(file: string, pattern: RegExp): number {
  const [, number = 128] = (existsSync(file) && pattern.exec(readFileSync(file, 'utf8'))) || [];
  return Math.max(1, Math.floor(Number(number) / 8));
}

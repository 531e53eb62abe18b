/**
 * Theory of operation of the process sandbox.
 *
 *   launcher
 *     keeper       unshare creates user, mount, pid and IPC namespaces; then a shell that only waits and holds no pipe
 *       shell      pid 1 of the pid namespace; runs the commands that arrive on FD.commands
 *         bwrap    one per program of the job
 *           program
 *
 * The launcher starts the holder (keeper and shell) ahead of time and moves it into control groups. The shell then mounts
 * the work folder, copies the files of the run into it and starts bubblewrap. Keeper and shell die with their parents,
 * and the death of the shell kills its whole pid namespace.
 *
 * The launcher and the shell communicate over the descriptors below. Bubblewrap's arguments and the system call
 * filter also pass through descriptors, because every user of the machine can read a command line.
 */
export const FD = {
  /** Launcher to shell: shell commands. */
  commands: 0,
  /** Shell to launcher: one line per command, such as `ready`, `failed` or `ended 0`. */
  answers: 1,
  /** Shell and bubblewrap to launcher: error messages. */
  errors: 2,
  /** Launcher to bubblewrap: the system call filter. */
  filter: 3,
  /** Bubblewrap to launcher: JSON lines about its child. The shell adds `{"over":true}`. */
  status: 4,
  /** Program to launcher. They become descriptors 1 and 2 of bubblewrap. */
  stdout: 5,
  stderr: 6,
  /** Launcher to bubblewrap: its arguments, each ended by a zero byte. */
  args: 7,
  /** Standard input of the first program: an unlinked file that the shell opens. */
  stdin: 8,
} as const;

/** The descriptors that exist when the holder starts, in order. The shell opens `FD.stdin` later. */
export const PIPED: readonly number[] = [
  FD.commands,
  FD.answers,
  FD.errors,
  FD.filter,
  FD.status,
  FD.stdout,
  FD.stderr,
  FD.args,
];

/**
 * Files in /etc that bubblewrap copies from a descriptor. The shell first closes `stdout`, `stderr` and `stdin` for
 * bubblewrap.
 */
export const ETC_FD = { passwd: FD.stdout, group: FD.stderr, hosts: FD.stdin, 'resolv.conf': 9 } as const;

/** Shell redirections that close some descriptors. */
export function closing(fds: readonly number[]): string {
  return fds.map(fd => `${fd}<&-`).join(' ');
}

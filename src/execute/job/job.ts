import type { KeepTree } from '../worktree/keep-tree.ts';

/** One program to run, with all its limits. It is sent to the launcher as a message, so it is plain data. */
export interface Job {
  /** The run ID. The job's files, groups and processes on this machine are named after it. */
  readonly id: string;
  readonly backend: 'none' | 'process';
  /** The program by its path inside the sandbox, and its arguments. */
  readonly argv: readonly string[];
  /**
   * Further programs. Each starts after the previous one has exited with 0 and all its processes have ended. They share
   * the work folder, limits and streams. A program named by a path must be in the stage, not among the output of an
   * earlier one.
   */
  readonly then?: readonly (readonly string[])[];
  readonly env: Readonly<Record<string, string>>;
  /** See workspace.ts. */
  readonly stage: string;
  /**
   * Read-only entries of the work folder (without a sandbox, they are writable). If `writeRoots` is empty, the program
   * sees everything in `work/` of the stage, listed here or not.
   */
  readonly staged: readonly string[];
  /**
   * The only paths in the work folder that the program may write to; `.` means all of it. If undefined, the work folder
   * is writable and has a folder `output`. The roots are in `output/` of the sandbox's work folder and start with the
   * contents of `roots/` in the stage. A root may be inside a staged folder, but must neither be a staged entry nor
   * contain one.
   */
  readonly writeRoots?: readonly string[];
  /** Files and folders of a writable work folder that stay read-only. None is a symlink. */
  readonly readOnly?: readonly string[];
  /** The only programs that exist in the sandbox, by bare name. If undefined, all of the machine's programs exist. */
  readonly programs?: readonly string[];
  /** Programs outside of the machine's folders, by path. The sandbox shows each at its path, with its installation. */
  readonly runtimes?: readonly string[];
  /** The folder in which the program starts: relative to the work folder, or absolute. Defaults to the work folder. */
  readonly startIn?: string;
  /** The name of a file in the stage that the first program reads as standard input. */
  readonly stdin?: string;
  /**
   * Gives the program a writable folder `/agent/home`, which counts as part of the work folder. The caller sets `HOME`.
   */
  readonly home?: true;
  /** Mounted read-only below /agent. `reachable` makes sure that the sandbox can read them. */
  readonly mounts?: readonly Mount[];
  /**
   * Child processes cannot impersonate the program. Its streams are sockets, which cannot be reopened through
   * /proc/PID/fd, and /proc is read-only, so they cannot write to its memory.
   */
  readonly guarded?: true;
  /** Mounts the stage's `door` folder, with the socket `model.sock`, as `/agent/door`. It is the only way out. */
  readonly door?: true;
  readonly network: 'blocked' | 'open';
  readonly limits: JobLimits;
  /** Masked in all output. */
  readonly secrets: readonly string[];
  /** Leaves well-known credential formats unmasked. */
  readonly keepCredentials?: true;
  /** Where the head of each stream is saved while the program runs, for recovery after a crash. */
  readonly keepIn?: string;
  /** Forwards output as it arrives. */
  readonly live: boolean;
  /** How the launcher saves an agent's work tree if Proctor dies. */
  readonly keepTree?: KeepTree;
}

export interface Mount {
  readonly source: string;
  /** A path below /agent or /work. It neither contains another target nor is inside one. */
  readonly target: string;
  /** Folders of the source, relative to it, that are empty inside. */
  readonly hides?: readonly string[];
}

/** `undefined` means no limit. */
export interface JobLimits {
  readonly timeoutMs: number;
  readonly idleMs?: number;
  readonly memoryBytes?: number;
  readonly cpuSeconds?: number;
  /** The number of CPUs that it may use at once. Requires control groups. */
  readonly cpus?: number;
  readonly pids?: number;
  readonly openFiles: number;
  /** The size of the work folder. */
  readonly workBytes: number;
  readonly workEntries: number;
  /** How much of each stream is kept: its head and, if it is longer, its tail. */
  readonly keep: Readonly<Record<StreamName, { readonly headBytes: number; readonly tailBytes: number }>>;
  /** The time between SIGTERM and SIGKILL. */
  readonly graceMs: number;
}

export type StreamName = 'stdout' | 'stderr';

/** What a dead launcher may leave behind on the machine. */
export interface Leftovers {
  readonly stage: string;
  readonly cgroups: readonly string[];
  /** Processes with their start times in ticks since boot, because the kernel reuses pids. */
  readonly processes: readonly { readonly pid: number; readonly startTicks: number }[];
  /** A variable in the environment of every process of an unsandboxed run. */
  readonly marker?: string;
}

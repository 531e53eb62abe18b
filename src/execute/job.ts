import type { KeepTree } from './keep-tree.ts';

/** One program to run, with everything that bounds it. It crosses to the launcher as a message, so it is plain data. */
export interface Job {
  /** Names what belongs to it on this machine; the id of the run. */
  readonly id: string;
  readonly backend: 'none' | 'process';
  /** The program as it is found inside the sandbox, and its arguments. */
  readonly argv: readonly string[];
  /**
   * Further programs, each started when the one before it has ended with 0 and everything of it is dead. All of them share
   * the work folder, the bounds and the streams. One that is named by a path lies in the stage, not among what another made.
   */
  readonly then?: readonly (readonly string[])[];
  readonly env: Readonly<Record<string, string>>;
  /** A private folder of this machine, in which the job was laid out: see workspace.ts. */
  readonly stage: string;
  /**
   * What the program finds in its work folder, and cannot change where there is a sandbox. Where `writeRoots` is empty
   * it finds all that lies in `work/` of the stage, named here or not.
   */
  readonly staged: readonly string[];
  /**
   * The only places in the work folder where the program may write, `.` for everywhere in it; undefined for a folder
   * `output` in a work folder that is writable itself. They lie below `output/` of the cell's work folder, with what the
   * stage has below `roots/` in them. None is, or holds, a staged name; one may lie in a staged folder.
   */
  readonly writeRoots?: readonly string[];
  /** Files and folders below the work folder that stay read-only where the rest of it may be written. None is a link. */
  readonly readOnly?: readonly string[];
  /** The only programs that exist inside, by bare name; undefined for all that the machine has. */
  readonly programs?: readonly string[];
  /** The folder below the work folder in which the program starts; the work folder itself, if not said. */
  readonly startIn?: string;
  /** A file of the stage, by name, that the first program reads as its standard input; undefined for none. */
  readonly stdin?: string;
  /** A writable folder of its own, `/agent/home`, which counts with the work folder. Its variable is the caller's to set. */
  readonly home?: true;
  /** Files and folders of this machine, shown read-only below /agent. `reachable` makes them such that the sandbox gets there. */
  readonly mounts?: readonly Mount[];
  /**
   * Programs that it starts cannot speak for it. Its streams are sockets, which /proc/PID/fd does not open again, and /proc is
   * read-only, so that its memory cannot be written to.
   */
  readonly guarded?: true;
  /** The folder `door` of the stage, in which somebody listens at `model.sock`, is shown as `/agent/door`. The only way out. */
  readonly door?: true;
  readonly network: 'blocked' | 'open';
  readonly limits: Limits;
  /** Masked wherever the program says them. */
  readonly secrets: readonly string[];
  /** Well-known credentials are not masked. */
  readonly keepCredentials?: true;
  /** Where the head of each stream is kept while the program lives, for a recovery after a crash. */
  readonly keepIn?: string;
  /** The streams are sent on as they come. */
  readonly live: boolean;
  /** What the launcher saves of an agent's work tree if its owner dies. */
  readonly keepTree?: KeepTree;
}

export interface Mount {
  readonly source: string;
  /** Below /agent, and neither in another nor around it. */
  readonly target: string;
}

/** Bounds of one program. `undefined` is no bound of ours. */
export interface Limits {
  readonly timeoutMs: number;
  readonly idleMs?: number;
  readonly memoryBytes?: number;
  readonly cpuSeconds?: number;
  /** How many processors it may use at once. Refused where no control group can hold it to that. */
  readonly cpus?: number;
  readonly pids?: number;
  readonly openFiles: number;
  /** What the work folder may hold. */
  readonly workBytes: number;
  readonly workEntries: number;
  /** What is kept of each stream: its beginning and, where there is more, its end. */
  readonly keep: Readonly<Record<StreamName, { readonly headBytes: number; readonly tailBytes: number }>>;
  /** Between the signal that asks and the one that does not. */
  readonly graceMs: number;
}

export type StreamName = 'stdout' | 'stderr';

/** What a dead launcher may leave behind on the machine. */
export interface Leftovers {
  readonly stage: string;
  readonly cgroups: readonly string[];
  /** Processes, with the time they began in ticks since boot: a pid alone may have found a new owner. */
  readonly processes: readonly { readonly pid: number; readonly startTicks: number }[];
  /** A variable in the environment of every process of a bare run. */
  readonly marker?: string;
}

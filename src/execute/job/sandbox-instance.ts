import type { Readable } from 'node:stream';
import type { LeftRunning } from '../../contracts/capture.ts';
import type { Job, Leftovers } from './job.ts';

/** A sandbox that is ready to run one job. Supervision does not depend on the backend. */
export interface SandboxInstance {
  readonly leftovers: Leftovers;
  /** The path of the program's work folder on this machine. Valid until `close`. */
  readonly workFolder: string;
  /** The path of the program's home on this machine, if the job has one. */
  readonly homeFolder?: string;
  /**
   * Starts the job's programs. `ended` reports a program that cannot start, and rejects if the sandbox cannot start.
   */
  start(): Started;
  /** The processes that a guarded program has started and that are still running. */
  running(): LeftRunning | undefined;
  /** Sends SIGTERM to all of the program's processes. No further program starts. */
  terminate(): void;
  /** Sends SIGKILL to all of the program's processes. `ended` reports the result. */
  kill(): void;
  counters(): Promise<Counters>;
  /** Which of the sampled limits the run has exceeded. The kernel enforces the other limits by itself. */
  exceeded(): Promise<'cpu' | 'memory' | undefined>;
  /**
   * Removes all processes, mounts and folders. Calls `first` when all processes have ended and the files still exist.
   */
  close(first?: () => Promise<void>): Promise<void>;
}

export interface Started {
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the program and everything it started have ended. */
  readonly ended: Promise<RawEnd>;
}

/** How the program ended, as reported by the kernel or by bubblewrap. `command` is the index of the program. */
export type RawEnd = ({ readonly code: number } | { readonly signal: string } | { readonly notStarted: 126 | 127 }) & {
  readonly command?: number;
  /** The number of processes that could not be killed. Undefined if a process may have escaped. */
  readonly survivors?: number;
  /** Processes that outlived the program. Undefined if they were not examined. */
  readonly left?: LeftRunning;
};

export interface Counters {
  readonly oomKills: number;
  readonly cpuMs?: number;
  readonly memoryPeakBytes?: number;
  readonly forksDenied?: number;
  /** How often an agent tried to use the blocked network. */
  readonly networkAttempts?: number;
  /** The values are sums of /proc samples, so short-lived processes may be missing. */
  readonly isSampled?: true;
}

export interface Sandbox {
  open(job: Job): Promise<SandboxInstance>;
}

export const NOT_STARTING = 'The sandbox does not start on this machine. Run `proctor doctor`.';

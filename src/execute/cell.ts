import type { Readable } from 'node:stream';
import type { LeftRunning } from '../contracts/capture.ts';
import type { Job, Leftovers } from './job.ts';

/**
 * A place where one program can run: a sandbox, made and waiting. Every backend gives one; who supervises the program
 * does not know which.
 */
export interface Cell {
  readonly leftovers: Leftovers;
  /** Where this machine sees the work folder of the program, from the start to `close`. */
  readonly workFolder: string;
  /** The same of its home, if the job has one. */
  readonly homeFolder?: string;
  /** Starts the program, and those after it. A program that cannot be started is an end; a sandbox that cannot is a Fault. */
  start(): Started;
  /** What the program has started and not ended yet, of programs that are guarded. */
  running(): LeftRunning | undefined;
  /** Asks every process of the program to end. None is started after it. */
  terminate(): void;
  /** Ends every process of the program. Whether it worked is seen by `ended`. */
  kill(): void;
  counters(): Promise<Counters>;
  /** Which limit the run has exceeded, of those that only looking can tell. The kernel holds the others by itself. */
  exceeded(): Promise<'cpu' | 'memory' | undefined>;
  /** Leaves no process, no mount and no folder of the cell behind. `first` comes when all is dead, and the files are there. */
  close(first?: () => Promise<void>): Promise<void>;
}

export interface Started {
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the program and everything it started is dead. */
  readonly ended: Promise<RawEnd>;
}

/** The end as the kernel or a wrapper reported it, and of which program of the job, if it has several. */
export type RawEnd = ({ readonly code: number } | { readonly signal: string } | { readonly notStarted: 126 | 127 }) & {
  readonly command?: number;
  /** Processes that could not be ended. Undefined where one may hide. */
  readonly survivors?: number;
  /** What ran on. Undefined where nobody looked. */
  readonly left?: LeftRunning;
};

export interface Counters {
  readonly oomKills: number;
  readonly cpuMs?: number;
  readonly memoryPeakBytes?: number;
  readonly forksDenied?: number;
  /** How often an agent reached for a network that it does not have. */
  readonly networkAttempts?: number;
  /** Summed from samples of /proc: what happened between two of them may be missing. */
  readonly isSampled?: true;
}

/** A kind of sandbox. */
export interface Sandbox {
  open(job: Job): Promise<Cell>;
}

/** Of a machine that does not let us make one. */
export const NOT_STARTING = 'The sandbox does not start on this machine. proctor doctor says why.';

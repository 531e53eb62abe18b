import type { ContentHash } from '../base/hash.ts';
import type { MaskedKinds } from '../base/masker.ts';
import type { Ending } from './ending.ts';

/** One output stream of a program after masking. The hash covers all of it; only head and tail are stored. */
export interface KeptStream {
  readonly bytesTotal: number;
  readonly sha256: ContentHash;
  /** The first bytes. `tail` holds the last ones, if the stream did not fit. */
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
  /** The number of masked ranges; `kinds` counts them by kind. */
  readonly masked: number;
  readonly kinds?: MaskedKinds;
}

export interface Phase {
  readonly name: 'setup' | 'execute' | 'teardown';
  readonly startedAtMs: number;
  readonly durationMs: number;
}

/** Processes that were still running when the main program ended. */
export interface LeftRunning {
  readonly processes: number;
  /** Distinct names; a long list is truncated. */
  readonly programs: readonly string[];
}

/** Everything Proctor knows about a program after it ended, except its output files. */
export interface Capture {
  readonly ending: Ending;
  /** The index of the command that ended, if there were several. */
  readonly command?: number;
  readonly phases: readonly Phase[];
  readonly stdout: KeptStream;
  readonly stderr: KeptStream;
  readonly cpuMs?: number;
  readonly memoryPeakBytes?: number;
  /** The number of denied forks. */
  readonly forksDenied?: number;
  /** The number of connection attempts in a sandbox without a network. Undefined if the kernel does not count them. */
  readonly networkAttempts?: number;
  /** CPU time and memory are sums of samples, which can miss short peaks. */
  readonly isSampled?: true;
  /** The number of processes that could not be killed. Undefined if a process could have hidden. */
  readonly survivors?: number;
  /** Undefined if Proctor did not check. */
  readonly leftRunning?: LeftRunning;
}

/** How many bytes of a stream, after its kept head, viewers of a running program can see. */
export const LIVE_BYTES_MAX = 8 * 1024 * 1024;

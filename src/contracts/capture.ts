import type { ContentHash } from '../base/hash.ts';
import type { MaskedKinds } from '../base/masker.ts';
import type { Ending } from './ending.ts';

/** What a program wrote to one of its streams, after the secrets in it were masked: hashed in full, kept in part. */
export interface KeptStream {
  readonly bytesTotal: number;
  readonly sha256: ContentHash;
  /** The first bytes, and the last ones where there was more than fits. */
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
  /** How many ranges were masked, and how many of each kind. */
  readonly masked: number;
  readonly kinds?: MaskedKinds;
}

export interface Phase {
  readonly name: 'setup' | 'execute' | 'teardown';
  readonly startedAtMs: number;
  readonly durationMs: number;
}

/** Programs that ran on when the one they belong to had ended, or was ended. */
export interface LeftRunning {
  readonly processes: number;
  /** Each name once, and only the first ones. */
  readonly programs: readonly string[];
}

/** Everything that is known of a program once it is dead, but for the files that it left. */
export interface Capture {
  readonly ending: Ending;
  /** Which of several programs the ending is of, counted from 0. */
  readonly command?: number;
  readonly phases: readonly Phase[];
  readonly stdout: KeptStream;
  readonly stderr: KeptStream;
  readonly cpuMs?: number;
  readonly memoryPeakBytes?: number;
  /** How often it was refused another process. */
  readonly forksDenied?: number;
  /** How often an agent reached for a network that it does not have. Undefined where the kernel did not tell. */
  readonly networkAttempts?: number;
  /** Processor time and memory are sums of samples: what happened between two of them may be missing. */
  readonly isSampled?: true;
  /** How many of its processes could not be ended. Undefined where one could have hidden itself. */
  readonly survivors?: number;
  /** What it started and had not ended yet. Undefined where nobody looked. */
  readonly leftRunning?: LeftRunning;
}

import type { KeptStream } from '../../contracts/capture.ts';
import type { TreeId } from './process-tree.ts';

/** A program that a keeper runs until it ends or Proctor stops it. */
export interface KeptOrder {
  /** The program and its arguments. No shell reads them. */
  readonly run: readonly string[];
  /** An absolute path. */
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly stderr: 'merged' | 'dropped';
  /** Connects standard input and output to Proctor, so that only standard error is kept. */
  readonly talks?: true;
  /** The keeper reports when the output contains this text. */
  readonly awaited?: string;
  readonly stop: { readonly signal: NodeJS.Signals; readonly withinMs: number };
  /** How much of the masked output is kept. */
  readonly keep: { readonly headBytes: number; readonly tailBytes: number };
  readonly secrets: readonly string[];
  readonly keepCredentials: boolean;
}

export type KeeperRequest = { readonly ask: 'start'; readonly order: KeptOrder } | { readonly ask: 'stop' };

export type KeeperReply =
  | { readonly say: 'started'; readonly tree: TreeId }
  | { readonly say: 'fault'; readonly code: string; readonly message: string; readonly cause: string }
  /** The output contains the awaited text. */
  | { readonly say: 'seen' }
  | { readonly say: 'lines'; readonly lines: readonly string[] }
  | ({ readonly say: 'ended' } & ProgramExit)
  /** Nothing is left of the program, except for `survivors`, which could not be killed. */
  | {
      readonly say: 'over';
      readonly output: KeptStream;
      readonly lines: readonly string[];
      readonly survivors: number;
    };

/** How a program ended. Both values are null if the keeper died first. */
export interface ProgramExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** The descriptors of a keeper that become standard input and output of a program that talks to Proctor. */
export const TALK_FDS = [4, 5] as const;
